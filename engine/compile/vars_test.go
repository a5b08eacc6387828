package compile

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"deployer/engine/lang"
)

// pathOf compiles a site and renders the path of its only task.
func pathOf(t *testing.T, base, fixed map[string]any, pairs ...string) (string, error) {
	t.Helper()
	p := mustCompile(t, pairs...)
	v := lang.NewVars(base, fixed)
	before := v.Clone()
	task := p.Tasks[0]
	mark := v.Depth()
	err := v.PushScope(task.Scopes, task.Refs())
	path := ""
	if err == nil {
		var args any
		if args, err = task.BuildArgs(v); err == nil {
			path = args.(*fileArgs).Path
		}
	}
	v.PopTo(mark)
	if diff := cmp.Diff(before, v.Clone()); diff != "" {
		t.Errorf("the variables are not as before: %s", diff)
	}
	return path, err
}

func TestVariablesOfVariables(t *testing.T) {
	got, err := pathOf(t, map[string]any{"x": "X"}, nil, "site.yaml", `
- hosts: all
  vars:
    a: "{{ b }}/{{ list | join(',') }}"
    b: "{{ c }}-{{ x }}"
    c: 1
    list: ["{{ c }}", two]
    unused: "{{ not_there }}"
  tasks: [{file: {path: "{{ a }}"}, vars: {c: 2}}]
`)
	if err != nil || got != "2-X/2,two" {
		t.Errorf("got %q, %v", got, err)
	}
}

func TestVariableErrors(t *testing.T) {
	for src, want := range map[string]string{
		`{a: "{{ b }}", b: "{{ c }}", c: "{{ a }}"}`: "variables refer to each other in a circle: a -> b -> c -> a",
		`{a: "{{ missing }}"}`:                       `variable "a": site.yaml:2:17: template {{ missing }}: unknown name "missing"`,
	} {
		_, err := pathOf(t, nil, nil, "site.yaml", "- hosts: all\n  vars: "+src+"\n  tasks: [{file: {path: '{{ a }}'}}]\n")
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: error is %v, want %s", src, err, want)
		}
	}
}

func TestRefsReachThroughVariables(t *testing.T) {
	p := mustCompile(t, "site.yaml", `
- hosts: all
  vars: {a: "{{ b }}", b: "{{ registered.x }}"}
  tasks: [{file: {path: "{{ a }}"}, when: c}]
`)
	if got := p.Tasks[0].Refs().Names(); !cmp.Equal(got, []string{"a", "b", "c", "registered"}) {
		t.Errorf("refs are %v", got)
	}
}

func TestTags(t *testing.T) {
	tests := map[string]struct{ tags, skip, want string }{
		"all":     {"", "", "a b c e"},
		"one":     {"x", "", "a c"},
		"skip":    {"", "x", "b c e"},
		"never":   {"n", "", "c d"},
		"of play": {"p", "", "c e"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			lib := &Compiler{Tags: strings.Fields(tt.tags), SkipTags: strings.Fields(tt.skip)}
			p, err := compileFiles(t, lib, "site.yaml", `
- hosts: all
  tasks:
    - {name: a, file: {path: /a}, tags: x, label: l}
    - {name: b, file: {path: /b}, needs: l}
    - {name: c, file: {path: /c}, tags: always}
    - {name: d, file: {path: /d}, tags: [never, n]}
- hosts: all
  tags: [p]
  tasks:
    - {name: e, file: {path: /e}}
`)
			if err != nil {
				t.Fatal(err)
			}
			if got := strings.Join(names(p.Tasks), " "); got != tt.want {
				t.Errorf("got %s, want %s", got, tt.want)
			}
		})
	}
}

func TestUnknownTags(t *testing.T) {
	site := "- hosts: all\n  tasks: [{name: a, file: {path: /a}, tags: [config, never]}]\n"
	for want, lib := range map[string]*Compiler{
		`--tags: no task has the tag "confg"; did you mean "config"?`: {Tags: []string{"always", "confg"}},
		`--skip-tags: no task has the tag "slow"`:                     {SkipTags: []string{"never", "slow", "config"}},
	} {
		if _, err := compileFiles(t, lib, "site.yaml", site); err == nil || err.Error() != want {
			t.Errorf("got %v, want %s", err, want)
		}
	}
}
