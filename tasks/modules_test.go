package tasks

import (
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"gopkg.in/yaml.v3"

	"deployer/ansible"
	"deployer/engine"
	"deployer/engine/exprarg"
	"deployer/strictyaml"
	"deployer/tasks/artifact"
	"deployer/tasks/content"
	"deployer/tasks/httpcheck"
	"deployer/tasks/unit"
	"deployer/tasks/wait"
)

func TestModuleTableIsSortedAndDocumented(t *testing.T) {
	t.Parallel()
	kinds := Modules()
	registry := engine.NewRegistry(kinds) // panics on a wrong table
	names := make([]string, 0, len(kinds))
	for _, k := range kinds {
		names = append(names, k.Name)
		if !strings.HasSuffix(k.Doc, ".") {
			t.Errorf("%s: the doc %q is not a sentence", k.Name, k.Doc)
		}
		documented(t, k.Name, reflect.TypeOf(k.New()).Elem())
	}
	if !slices.IsSorted(names) {
		t.Error("the table is not sorted by name")
	}
	for _, made := range []string{"file", "blob_install", "image_import"} { // by preparers
		if _, err := registry.Module(made); err != nil {
			t.Error(err)
		}
	}
}

// documented requires a yaml and a doc tag on every argument: the reference is generated
// from them, and an argument without a yaml tag cannot be written in a playbook.
func documented(t *testing.T, where string, typ reflect.Type) {
	t.Helper()
	for i := range typ.NumField() {
		field := typ.Field(i)
		name := where + "." + field.Name
		switch {
		case !field.IsExported():
			t.Errorf("%s does not travel to the host", name)
		case field.Tag.Get("yaml") == "" || field.Tag.Get("doc") == "":
			t.Errorf("%s lacks a yaml or doc tag", name)
		case field.Tag.Get("json") != "":
			t.Errorf("%s has a json tag; arguments travel under their Go names", name)
		}
		inner := field.Type
		for inner != reflect.TypeFor[exprarg.Conditions]() && inner.Kind() == reflect.Slice || inner.Kind() == reflect.Pointer || inner.Kind() == reflect.Map {
			inner = inner.Elem()
		}
		_, decodesItself := reflect.New(inner).Interface().(yaml.Unmarshaler)
		if inner.Kind() == reflect.Struct && !decodesItself {
			documented(t, name, inner)
		}
	}
}

// TestArgumentsDecode decodes arguments of playbooks with unusual kinds of fields.
func TestArgumentsDecode(t *testing.T) {
	t.Parallel()
	no, half := false, 500*time.Millisecond
	tests := map[string]struct {
		yaml string
		want any
	}{
		"unit": {
			"{name: x.service, enabled: false, state: started, stable_for: 500ms, timeout: 2m, restart_if_older_than: [/a]}",
			&unit.Unit{Name: "x.service", Enabled: &no, State: "started", StableFor: &half, Timeout: 2 * time.Minute, RestartIfOlderThan: []string{"/a"}},
		},
		"wait_for": {
			"{http: {url: http://x, status: 204}, timeout: 5s}",
			&wait.Condition{HTTP: &httpcheck.HTTP{URL: "http://x", Status: 204}, Timeout: 5 * time.Second},
		},
		"artifact": {
			"{name: etcd, version: v3, members: {etcd: /b/etcd, bin/: /c/}}",
			&artifact.Artifact{Name: "etcd", Version: "v3", Members: map[string]string{"etcd": "/b/etcd", "bin/": "/c/"}},
		},
		"yaml_file": {
			"{dest: /a, value: {on: true, n: 1, list: [a]}}",
			&content.YAMLFile{Dest: "/a", Value: map[string]any{"on": true, "n": 1, "list": []any{"a"}}},
		},
	}
	registry := engine.NewRegistry(Modules())
	for kind, tt := range tests {
		node, err := strictyaml.Parse("test.yaml", []byte(tt.yaml))
		if err != nil {
			t.Fatal(err)
		}
		got := registry[kind].New()
		if err := strictyaml.Decode("test.yaml", node, got); err != nil {
			t.Errorf("%s: %v", kind, err)
		}
		if diff := cmp.Diff(tt.want, got); diff != "" {
			t.Errorf("%s: %s", kind, diff)
		}
	}
}

// TestRenamedNamesAreNoModules: the hint for a name of Ansible is never shown when
// deployer has a module with that name.
func TestRenamedNamesAreNoModules(t *testing.T) {
	t.Parallel()
	registry := engine.NewRegistry(Modules())
	for theirs := range ansible.ModuleNames() {
		if _, taken := registry[theirs]; taken {
			t.Errorf("%s is a module of deployer", theirs)
		}
	}
}

// TestBuiltinModulesOfTheAgentAreNotInTheTable: the agent looks up its builtin modules
// first, so a registered module of the same name would never run.
func TestBuiltinModulesOfTheAgentAreNotInTheTable(t *testing.T) {
	for _, name := range []string{engine.RevertModule, engine.PurgeModule} {
		if slices.ContainsFunc(Modules(), func(k engine.Kind) bool { return k.Name == name }) {
			t.Errorf("%q is a module that every agent brings along", name)
		}
	}
}
