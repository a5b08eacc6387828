package compile

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"deployer/engine"
	"deployer/engine/lang"
)

// TestRunAs: play (first line), block and task determine the user that runs programs.
func TestRunAs(t *testing.T) {
	tests := map[string]struct{ play, block, task, want string }{
		"no become keywords":                                         {"", "", "", ""},
		"become_user of the play":                                    {"become_user: app", "", "", "app"},
		"become_user of the task wins":                               {"become_user: app", "become_user: web", "become_user: db", "db"},
		"become_user with a variable":                                {"vars: {who: app}", "", "become_user: '{{ who }}'", "app"},
		"become without become_user":                                 {"", "", "become: true", "root"},
		"become with become_user of the play":                        {"become_user: app", "", "become: true", "app"},
		"become: false":                                              {"", "", "become: false", engine.LoginUser},
		"become: false of the block wins over the play":              {"become_user: app", "become: false", "", engine.LoginUser},
		"become_user inside become: false":                           {"become: false", "", "become_user: app", "app"},
		"become: true inside become: false":                          {"become: false", "", "become: true", "root"},
		"become: true inside become: false, become_user of the play": {"become_user: app", "become: false", "become: true", "app"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			var site strings.Builder
			site.WriteString("- hosts: all\n")
			if tt.play != "" {
				site.WriteString("  " + tt.play + "\n")
			}
			site.WriteString("  tasks:\n    - block:\n        - run: id\n")
			if tt.task != "" {
				site.WriteString("          " + tt.task + "\n")
			}
			if tt.block != "" {
				site.WriteString("      " + tt.block + "\n")
			}
			p := mustCompile(t, "site.yaml", site.String())
			v := lang.NewVars(nil, nil)
			if err := v.PushScope(p.Tasks[0].Scopes, p.Tasks[0].Refs()); err != nil {
				t.Fatal(err)
			}
			got, err := p.Tasks[0].User(v)
			if err != nil || got != tt.want {
				t.Errorf("%q, %v; want %q", got, err, tt.want)
			}
		})
	}
}

// TestRunAsForModulesWithoutPrograms: modules without programs reject become_user where it
// could be mistaken for the owner of a file.
func TestRunAsForModulesWithoutPrograms(t *testing.T) {
	tests := map[string]struct {
		play, task string
		want       string // empty: it compiles
	}{
		"become_user at a module with owner":                             {"", "owned: {path: /a}\n      become_user: app", "site.yaml:5:20: become_user: owned runs no programs: it writes files itself, as root; use owner:"},
		"become_user of the play, module with owner":                     {"become_user: app", "owned: {path: /a}", "site.yaml:4:7: owned writes files itself, as root, and not as the become_user of site.yaml:2:16; use owner:, and say become_user: root here"},
		"become_user: root at a module with owner":                       {"become_user: app", "owned: {path: /a}\n      become_user: root", ""},
		"become: false of the play, module with owner":                   {"become: false", "owned: {path: /a}", "site.yaml:4:7: owned writes files itself, as root, although become is false around it; use owner:, and say become: true here"},
		"become: true at a module with owner, become: false of the play": {"become: false", "owned: {path: /a}\n      become: true", ""},
		"become: false at a module with owner":                           {"", "owned: {path: /a}\n      become: false", "site.yaml:4:7: become: owned runs no programs: its work is done as root; leave become out, use owner:"},
		"become: true at a module with owner":                            {"", "owned: {path: /a}\n      become: true", ""},
		"become_user at a module without owner":                          {"", "file: {path: /a}\n      become_user: app", "site.yaml:5:20: become_user: file runs no programs that could run as another user; leave it out"},
		"become_user of the play, module without owner":                  {"become_user: app", "file: {path: /a}", ""},
		"become: false of the play, action":                              {"become: false", "plan: {}", ""},
		"become: false with become_user":                                 {"", "run: id\n      become: false\n      become_user: app", "site.yaml:6:20: become_user has no effect with become: false; remove one of them"},
		"become_user as a list":                                          {"become_user: [a]", "run: id", "site.yaml:2:16: become_user: want a text"},
		"environment as a text":                                          {"environment: a", "run: id", "site.yaml:2:16: environment: want a mapping of names to texts"},
		"environment with an invalid name":                               {"environment: {'a=b': c}", "run: id", `site.yaml:2:17: environment: "a=b" cannot be the name of a variable`},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			play := tt.play
			if play == "" {
				play = "name: a"
			}
			_, err := compileFiles(t, nil, "site.yaml", "- hosts: all\n  "+play+"\n  tasks:\n    - "+tt.task+"\n")
			got := ""
			if err != nil {
				got = err.Error()
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestEnvironment(t *testing.T) {
	const site = `
- hosts: all
  vars: {proxy: "http://p:80", all: {FROM: vars, N: 3}}
  environment: {http_proxy: "{{ proxy }}", LANG: C, A: play}
  tasks:
    - run: id
      environment: {A: task, DEBUG: true}
    - block: [{run: id}]
      environment: "{{ all }}"
    - run: id
      environment: {LIST: "{{ list }}"}
    - run: id
      environment: "{{ proxy }}"
`
	p := mustCompile(t, "site.yaml", site)
	tests := []struct {
		want []string
		err  string
	}{
		{[]string{"A=task", "DEBUG=true", "LANG=C", "http_proxy=http://p:80"}, ""},
		{[]string{"A=play", "FROM=vars", "LANG=C", "N=3", "http_proxy=http://p:80"}, ""},
		{nil, "site.yaml:11:20: environment: LIST: want a text, got a list"},
		{nil, `site.yaml:13:20: environment: want a mapping of names to texts, got the text "http://p:80"`},
	}
	for i, tt := range tests {
		v := lang.NewVars(map[string]any{"list": []any{}}, nil)
		if err := v.PushScope(p.Tasks[i].Scopes, p.Tasks[i].Refs()); err != nil {
			t.Fatal(err)
		}
		got, err := p.Tasks[i].Env(v)
		if diff := cmp.Diff(tt.want, got); diff != "" {
			t.Error(diff)
		}
		if (err == nil) != (tt.err == "") || err != nil && err.Error() != tt.err {
			t.Errorf("error is %v, want %s", err, tt.err)
		}
	}
}
