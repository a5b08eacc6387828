package roles_test

import (
	"encoding/base64"
	"encoding/json"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"

	"deployer/cluster"
	"deployer/engine/lang"
	"deployer/engine/program"
	"deployer/project"
	"deployer/roles"
)

// signPattern matches the texts that stand for credentials in the inventory of this test.
var signPattern = regexp.MustCompile(`sign-of-[a-z-]+`)

// TestCredentialsAreInSecretSteps renders every step of every host with an inventory in which
// every credential has a text of its own, and requires that each step with one of these texts
// is secret: then no output shows it, and the backups of the former files expire.
func TestCredentialsAreInSecretSteps(t *testing.T) {
	s := newSite(t, "credentials")
	s.found["etcd_backup_keys"] = map[string]any{"content": "# Written by deployer. sign-of-encrypted-keys\n"}
	s.found["etcd_backup_mac_key"] = map[string]any{"key": "sign-of-backup-mac-key", "fingerprint": "f"}
	forms := []string{
		base64.StdEncoding.EncodeToString([]byte("sign-of-mirror-user:sign-of-mirror-password")), // in hosts.toml
	}
	steps, written := 0, map[string]bool{}
	s.see = func(task *program.Task, host string, step any) {
		steps++
		text, err := json.Marshal(step)
		if err != nil {
			t.Fatalf("%s: %s: %v", host, task.Name, err)
		}
		signs := signPattern.FindAllString(string(text), -1)
		for _, form := range forms {
			if strings.Contains(string(text), form) {
				signs = append(signs, "sign-of-mirror-password")
			}
		}
		for _, sign := range signs {
			written[sign] = true
		}
		if len(signs) > 0 && !task.Secret && !secretArgument(step) {
			t.Errorf("%s: task %q of role %s is not secret, and has %v", host, task.Name, task.Role, signs)
		}
	}
	for _, host := range project.ClusterHosts(s.inv, s.cluster) {
		s.files(t, host)
	}
	if steps < 200 {
		t.Errorf("only %d steps were examined", steps)
	}
	inventory, err := os.ReadFile(filepath.Join("testdata", "inventories", "credentials.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	for _, sign := range append(signPattern.FindAllString(string(inventory), -1), "sign-of-encrypted-keys", "sign-of-backup-mac-key") {
		// Hooks run on the controller, in playbooks that take nodes out of use.
		if hook := strings.HasPrefix(sign, "sign-of-hook-"); !written[sign] && !hook {
			t.Errorf("no step has %s, so the test does not see where it is written", sign)
		}
	}
}

// secretArgument reports whether a module or its arguments have secret: true.
func secretArgument(step any) bool {
	v := reflect.Indirect(reflect.ValueOf(step))
	if v.Kind() != reflect.Struct {
		return false
	}
	field := v.FieldByName("Secret")
	return field.IsValid() && field.Kind() == reflect.Bool && field.Bool()
}

// credentialKey matches names of keys whose values may be credentials.
var credentialKey = regexp.MustCompile(`password|secret|token|access_key|credential|^https?_proxy$|^headers$|^env$`)

// TestEveryCredentialIsPlanted checks that the inventory of the test above sets every key of
// the section cluster that may hold a credential, so that a new one is examined, too.
func TestEveryCredentialIsPlanted(t *testing.T) {
	elsewhere := map[string]string{
		"password_file":  "a path; the inventory's reader puts the content into password",
		"secret_headers": "names of files and variables that the controller reads",
		"env":            "the name of a variable",
	}
	inventory, err := os.ReadFile(filepath.Join("testdata", "inventories", "credentials.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	found, visited := 0, map[reflect.Type]bool{}
	var walk func(path string, typ reflect.Type)
	walk = func(path string, typ reflect.Type) {
		for typ.Kind() == reflect.Pointer || typ.Kind() == reflect.Slice || typ.Kind() == reflect.Map {
			typ = typ.Elem()
		}
		if typ.Kind() != reflect.Struct || visited[typ] { // a node of YAML contains others
			return
		}
		visited[typ] = true
		for i := range typ.NumField() {
			key, _, _ := strings.Cut(typ.Field(i).Tag.Get("yaml"), ",")
			at := path + "." + key
			walk(at, typ.Field(i).Type)
			if !credentialKey.MatchString(key) {
				continue
			}
			found++
			set := regexp.MustCompile(`\b` + regexp.QuoteMeta(key) + `:`).Match(inventory)
			if !set && elsewhere[key] == "" {
				t.Errorf("%s may hold a credential: set it in the inventory of the test", at)
			}
		}
	}
	walk("cluster", reflect.TypeFor[cluster.Spec]())
	if found < 8 {
		t.Errorf("only %d keys for credentials were found", found)
	}
}

// TestFilesOfOtherPlaybooks checks the tasks that write files with contents of their own and
// are in no task list of install: none of the data that they write is a credential, or they
// are secret.
func TestFilesOfOtherPlaybooks(t *testing.T) {
	writers := map[string]bool{"copy": true, "template": true, "yaml_file": true, "file": true, "edit": true}
	plain := map[string]string{
		"mark the restore as unfinished":                              "a sentence",
		"mark the replacement of the data as unfinished":              "a sentence",
		"record the number by which this restore raises the revision": "a number",
		"mark the change of the network plugin":                       "the name of a plugin",
		"MAC beside the snapshot":                                     "size, digest and a code that reveals no key",
	}
	installed := map[string]bool{}
	tasksOf := func(playbook string) []*program.Task {
		p, err := compiler().Compile(lang.Tree{Name: "roles", FS: roles.FS}, "playbooks/"+playbook)
		if err != nil {
			t.Fatal(err)
		}
		return p.Tasks
	}
	for _, task := range tasksOf("install.yaml") {
		installed[task.Role+"/"+task.Name] = true
	}
	books, err := roles.FS.ReadDir("playbooks")
	if err != nil {
		t.Fatal(err)
	}
	seen, secret := map[string]bool{}, secretByArgument(t)
	for _, book := range books {
		for _, task := range tasksOf(book.Name()) {
			if !writers[task.Kind.Name] || installed[task.Role+"/"+task.Name] || task.Secret || secret[task.Name] {
				continue
			}
			if seen[task.Name] = true; plain[task.Name] == "" {
				t.Errorf("%s: task %q writes a file and is not secret: make it secret, or list it here with the kind of its content", book.Name(), task.Name)
			}
		}
	}
	for name := range plain {
		if !seen[name] {
			t.Errorf("no playbook has the task %q", name)
		}
	}
}

// secretByArgument returns the names of the tasks whose module has the argument secret: true.
func secretByArgument(t *testing.T) map[string]bool {
	t.Helper()
	out := map[string]bool{}
	var walk func(v any)
	walk = func(v any) {
		switch v := v.(type) {
		case []any:
			for _, item := range v {
				walk(item)
			}
		case map[string]any:
			name, _ := v["name"].(string)
			for _, value := range v {
				if args, ok := value.(map[string]any); ok && args["secret"] == true {
					out[name] = true
				}
				walk(value)
			}
		}
	}
	err := fs.WalkDir(roles.FS, ".", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(path, ".yaml") {
			return err
		}
		text, err := roles.FS.ReadFile(path)
		if err != nil {
			return err
		}
		var content any
		if err := yaml.Unmarshal(text, &content); err != nil {
			return err
		}
		walk(content)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}
