package compile

import (
	"slices"
	"strings"
	"testing"
)

// TestErrorsOfBothPhases: errors of keys and of names are reported together, and what could not
// be compiled is no reason to call a name unknown that it may define or guard.
func TestErrorsOfBothPhases(t *testing.T) {
	unknown := `unknown name "nothing"`
	read := "{file: {path: '/{{ nothing }}'}}"
	tests := map[string]struct {
		play string
		want []string // one for each error
	}{
		"a misspelt key of the task":                         {"tasks: [{file: {path: '/{{ nothing }}'}, registr: r}]", []string{`did you mean "register"`, unknown}},
		"an unknown key of another task":                     {"tasks: [{run: ls, bogus: 1}, " + read + "]", []string{`unknown task keyword or module "bogus"`, unknown}},
		"an unknown module":                                  {"tasks: [{frobnicate: {a: 1}}, " + read + "]", []string{`"frobnicate"`, unknown}},
		"an unknown argument":                                {"tasks: [{file: {path: '/{{ nothing }}', mdoe: x}}]", []string{`"mdoe"`, unknown}},
		"a wrong constant":                                   {"tasks: [{file: {path: '/{{ nothing }}', mode: rw}}]", []string{"octal mode", unknown}},
		"a wrong value known before the run":                 {"vars: {m: rw}\n  tasks: [{file: {path: /x, mode: '{{ m }}'}}, {run: ls, bogus: 1}]", []string{"octal mode", `"bogus"`}},
		"a key of Ansible":                                   {"remote_user: bob\n  tasks: [" + read + "]", []string{`"remote_user"`, unknown}},
		"a misspelt key of the play":                         {"taks: []\n  tasks: [" + read + "]", []string{`unknown key "taks"`, unknown}},
		"a keyword that the form does not take":              {"tasks: [{file: {path: '/{{ nothing }}'}, rescue: []}]", []string{`does not take "rescue"`, unknown}},
		"a misspelt block":                                   {"tasks: [{blok: [" + read + "]}]", []string{`did you mean "block"`, unknown}},
		"a loop of an include that is known in the run only": {"tasks: [{include_tasks: bad.yaml, loop: facts.list}]", []string{"must be known before", `bad.yaml:1:21: template {{ nothing }}: ` + unknown}},
		"an include with a broken loop":                      {"tasks: [{include_tasks: bad.yaml, loop: 'a =='}]", []string{"unexpected token", `bad.yaml:1:21: template {{ nothing }}: ` + unknown}},
		"an empty include with a wrong key":                  {"tasks: [{include_tasks: keys.yaml, loop: 'filter([1], # > 2)'}]", []string{`keys.yaml:1:20: unknown key "mdoe"`}},
		"a variable of Ansible is reported once":             {"tasks: [{file: {path: '/{{ inventory_hostname }}'}, when: inventory_hostname == 1}, {run: ls, bogus: 1}]", []string{`unknown name "inventory_hostname"`, `unknown name "inventory_hostname"`, `"bogus"`}},

		"a misspelt register":               {"tasks: [{run: ls, registr: nothing}, " + read + "]", []string{`did you mean "register"`}},
		"an unknown module with register":   {"tasks: [{frobnicate: x, register: nothing}, " + read + "]", []string{`"frobnicate"`}},
		"an unknown module that may set it": {"tasks: [{frobnicate: {nothing: 1}}, " + read + "]", []string{`"frobnicate"`}},
		"a misspelt condition":              {"tasks: [{file: {path: '/{{ nothing }}'}, whne: host.name == 1}]", []string{`did you mean "when"`}},
		"an unknown loop":                   {"tasks: [{file: {path: '/{{ item }}{{ nothing }}'}, with_dict: x}]", []string{`"with_dict"`}},
		"a broken condition":                {"tasks: [{file: {path: '/{{ nothing }}'}, when: 'a =='}]", []string{"unexpected token"}},
		"a broken condition of a block":     {"tasks: [{block: [" + read + "], when: 'a =='}]", []string{"unexpected token"}},
		"a broken condition of a role":      {"roles: [{role: r, when: 'a =='}]", []string{"unexpected token"}},
		"a broken loop":                     {"tasks: [{file: {path: '/{{ item }}{{ nothing }}'}, loop: 'a =='}]", []string{"unexpected token"}},
		"a broken variable":                 {"vars: {nothing: '{{ a == }}'}\n  tasks: [" + read + "]", []string{"unexpected token"}},
		"a role that does not exist":        {"roles: [gone]\n  tasks: [" + read + "]", []string{`unknown role "gone"`}},
		"a file that does not exist":        {"tasks: [{include_tasks: gone.yaml}, " + read + "]", []string{"gone.yaml"}},
		"a file of variables that does not": {"vars_files: [gone.yaml]\n  tasks: [" + read + "]", []string{"gone.yaml"}},
		"a task that is two things":         {"tasks: [{set: {nothing: 1}, run: ls}, " + read + "]", []string{"one module only"}},
		"a wrong prompt":                    {"vars_prompt: [{name: nothing, bogus: 1}]\n  tasks: [" + read + "]", []string{`"bogus"`}},
		"a set of computed names":           {"tasks: [{set: {values: '{{ host }}'}}, " + read + "]", []string{"names must be written out"}},
		"the loop of a misspelt keyword":    {"tasks: [{file: {path: '/{{ item }}'}, lop: [1]}]", []string{`did you mean "loop"`}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			lib := inventoryOf(map[string]map[string]any{"h1": {}, "h2": {}})
			lib.RunHosts = []string{"h1", "h2"}
			_, err := compileFiles(t, lib, "site.yaml", "- hosts: all\n  "+tt.play+"\n", "bad.yaml", "- file: {path: '/{{ nothing }}{{ item }}'}\n",
				"keys.yaml", "- file: {path: /x, mdoe: x}\n", "roles/r/tasks/main.yaml", "- "+read+"\n")
			if err == nil {
				t.Fatal("no error")
			}
			got := strings.Split(err.Error(), "\n")
			for _, want := range tt.want {
				if !slices.ContainsFunc(got, func(line string) bool { return strings.Contains(line, want) }) {
					t.Errorf("no error %q in\n%v", want, err)
				}
			}
			if len(got) != len(tt.want) {
				t.Errorf("want %d errors, got\n%v", len(tt.want), err)
			}
		})
	}
}
