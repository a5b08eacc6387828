package compile

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"deployer/engine/lang"
)

// TestIncludeVars: include_vars reads the file for the host, whatever the case of its
// name; values of a file may read each other.
func TestIncludeVars(t *testing.T) {
	for family, want := range map[string]map[string]any{
		"debian": {"package": "ntpsec", "conf": "/etc/ntpsec/x"},
		"redhat": {"package": "chrony", "other": 1},
		"suse":   {},
	} {
		p, err := compileFiles(t, nil, "site.yaml", "- hosts: all\n  roles: [ntp]\n",
			"roles/ntp/tasks/main.yaml", "- include_vars: [\"{{ facts.os }}.yml\", '../vars/{{ facts.os_family }}.yml']\n- file: {path: '{{ package }}'}\n",
			"roles/ntp/vars/Debian.yml", "dir: /etc/ntpsec\npackage: ntpsec\nconf: '{{ dir }}/x'\n",
			"roles/ntp/vars/RedHat.yml", "package: chrony\nother: 1\n",
			"roles/ntp/vars/empty.yml", "")
		if err != nil {
			t.Fatal(err)
		}
		vars := lang.NewVars(map[string]any{"facts": map[string]any{"os": "any", "os_family": family}}, nil)
		got := map[string]any{}
		for _, task := range p.Tasks {
			if task.Kind.Name != "set" {
				continue
			}
			mark := vars.Depth()
			if err := vars.PushScope(task.Scopes, task.Refs()); err != nil {
				t.Fatal(err)
			}
			if err := vars.PushScope(task.Scopes, task.When[0].Refs()); err != nil {
				t.Fatal(err)
			}
			if ok, _, err := task.Applies(vars); err != nil {
				t.Fatal(err)
			} else if ok {
				var args setArgs
				if err := task.Args.Decode(vars.Map(), &args); err != nil {
					t.Fatal(err)
				}
				got = args.Values
			}
			vars.PopTo(mark)
		}
		delete(got, "dir")
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s: %s", family, diff)
		}
	}
}

func TestIncludeVarsErrors(t *testing.T) {
	for task, want := range map[string]string{
		"include_vars: nothing.yaml":              "site.yaml:2:26: include_vars: there is no such file in vars or .",
		"include_vars: '{{ a ~ b }}.yaml'":        "write string(a) + string(b)",
		"include_vars: {file: a.yaml, depth: 1}":  "include_vars takes no depth",
		"include_vars: a.yaml, register: x":       `include_vars does not take "register"`,
		"include_vars: '{{ facts.os }}.bad.yaml'": "vars/x.bad.yaml:1:1: the variable \"host\" belongs to the engine",
	} {
		_, err := compileFiles(t, nil, "site.yaml", "- hosts: all\n  tasks: [{"+task+"}]\n",
			"vars/a.yaml", "a: 1\n", "vars/x.bad.yaml", "host: 1\n")
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %s", task, err, want)
		}
	}
}
