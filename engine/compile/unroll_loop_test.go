package compile

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"deployer/engine/lang"
	"deployer/engine/program"
)

// inventoryOf returns a compiler for hosts with the given variables.
func inventoryOf(vars map[string]map[string]any) *Compiler {
	hosts := slices.Sorted(maps.Keys(vars))
	return &Compiler{
		Match: func(string) ([]string, error) { return hosts, nil },
		Vars: func(host string) map[string]any {
			out := map[string]any{"host": map[string]any{"name": host}, "groups": map[string]any{"web": []any{"a", "b"}}}
			for name, value := range vars[host] {
				out[name] = value
			}
			return out
		},
	}
}

// pathsOf returns the arguments of all tasks on a host, without those of blocks that
// the host skips.
func pathsOf(t *testing.T, lib *Compiler, p *program.Program, host string) []string {
	t.Helper()
	var out []string
tasks:
	for _, task := range p.Tasks {
		v := lang.NewVars(lib.Vars(host), nil)
		for b := task.Block; b != nil; b = b.Parent {
			if ok, _, err := b.Applies(v); b.OnlyHosts != nil && !b.OnlyHosts[host] || err == nil && !ok {
				continue tasks
			} else if err != nil {
				out = append(out, err.Error())
				continue tasks
			}
		}
		if err := v.PushScope(task.Scopes, task.Refs()); err != nil {
			t.Fatal(err)
		}
		args, err := task.BuildArgs(v)
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, args.(*fileArgs).Path)
	}
	return out
}

func TestIncludeLoop(t *testing.T) {
	vars := map[string]map[string]any{
		"h1": {"users": []any{map[string]any{"name": "ann", "keys": []any{1, 2}}, map[string]any{"name": "bob", "keys": []any{}}}, "color": "red"},
		"h2": {"users": []any{map[string]any{"name": "cat", "keys": []any{3}}}, "color": "blue"},
		"h3": {"users": []any{}, "color": "green"},
	}
	tests := map[string]struct {
		tasks string
		want  map[string][]string
	}{
		"a list that is written out": {"[{include_tasks: inc.yaml, loop: [x, y]}]",
			map[string][]string{"h1": {"/x", "/end x", "/y", "/end y"}, "h3": {"/x", "/end x", "/y", "/end y"}}},
		"with templates": {"[{include_tasks: inc.yaml, loop: ['{{ color }}', y]}]",
			map[string][]string{"h1": {"/red", "/end red", "/y", "/end y"}, "h2": {"/blue", "/end blue", "/y", "/end y"}}},
		"of groups": {"[{include_tasks: inc.yaml, loop: groups.web}]",
			map[string][]string{"h2": {"/a", "/end a", "/b", "/end b"}}},
		"of vars of the play": {"[{include_tasks: inc.yaml, loop: ports}]",
			map[string][]string{"h2": {"/80", "/end 80", "/81", "/end 81"}}},
		"of each host": {"[{include_tasks: inc.yaml, loop: 'map(users, .name)'}]",
			map[string][]string{"h1": {"/ann", "/end ann", "/bob", "/end bob"}, "h2": {"/cat", "/end cat"}, "h3": nil}},
		"a condition on the item": {"[{include_tasks: inc.yaml, loop: 'map(users, .name)', when: item != 'ann'}]",
			map[string][]string{"h1": {"/bob", "/end bob"}, "h2": {"/cat", "/end cat"}}},
		"loop_var and index_var": {"[{include_tasks: named.yaml, loop: [x, y], loop_control: {loop_var: outer, index_var: i}}]",
			map[string][]string{"h1": {"/0 x a", "/1 y a"}}},
		"a role": {"[{include_role: r, loop: [x, y], vars: {param: 'p{{ item }}'}}]",
			map[string][]string{"h1": {"/role x px", "/role y py"}}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			lib := inventoryOf(vars)
			p, err := compileFiles(t, lib, "site.yaml", "- hosts: all\n  vars: {ports: [80, 81]}\n  tasks: "+tt.tasks+"\n",
				"inc.yaml", "- file: {path: '/{{ item }}'}\n- file: {path: '/end {{ item }}'}\n",
				"named.yaml", "- file: {path: '/{{ i }} {{ outer }} a'}\n",
				"roles/r/tasks/main.yaml", "- file: {path: '/role {{ item }} {{ param }}'}\n",
				"roles/r/vars/main.yaml", "color: grey\n")
			if err != nil {
				t.Fatal(err)
			}
			for host, want := range tt.want {
				if diff := cmp.Diff(want, pathsOf(t, lib, p, host)); diff != "" {
					t.Errorf("%s: %s", host, diff)
				}
			}
		})
	}
}

func TestNestedIncludeLoops(t *testing.T) {
	lib := inventoryOf(map[string]map[string]any{"h1": {"sites": []any{
		map[string]any{"name": "one", "ports": []any{80, 81}}, map[string]any{"name": "two", "ports": []any{90}}}}})
	p, err := compileFiles(t, lib,
		"site.yaml", "- hosts: all\n  tasks: [{include_tasks: outer.yaml, loop: sites, loop_control: {loop_var: site, label: '{{ site.name }}'}}]\n",
		"outer.yaml", "- {include_tasks: inner.yaml, loop: site.ports}\n",
		"inner.yaml", "- {name: at, file: {path: '/{{ site.name }}/{{ item }}'}, loop: [a, b], loop_control: {loop_var: x}}\n")
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"/one/80", "/one/81", "/two/90"}, pathsOf(t, lib, p, "h1")); diff != "" {
		t.Error(diff)
	}
	v := lang.NewVars(lib.Vars("h1"), nil)
	if err := v.PushScope(p.Tasks[2].Scopes, p.Tasks[2].Refs()); err != nil {
		t.Fatal(err)
	}
	for title, want := range map[string]bool{"at (two)": true, "at": true, "at (x": true, "at home": false, "on (two)": false} {
		if p.Tasks[2].MayHaveTitle(title) != want {
			t.Errorf("%q may be its title: %v", title, !want)
		}
	}
	if title, err := p.Tasks[2].Title(v); title != "at (two)" || err != nil {
		t.Errorf("%q, %v", title, err)
	}
}

func TestIncludeLoopErrors(t *testing.T) {
	vars := map[string]map[string]any{"h1": {"some": []any{"x"}}, "h2": {}}
	for tasks, want := range map[string]string{
		"[{include_tasks: inc.yaml, loop: facts.addresses}]": "site.yaml:2:43: loop at include_tasks: the number of items must be known before any host is contacted, " +
			"and it reads facts; loop at the included tasks, or loop over all possible items with a condition on the item",
		"[{file: {path: /}, register: r}, {include_tasks: inc.yaml, loop: r.lines}]":                              "it reads r, which the task at site.yaml:2:11 gives a value",
		"[{set: {some: [1]}}, {include_tasks: inc.yaml, loop: some}]":                                             "it reads some, which the task at site.yaml:2:11 gives a value",
		"[{include_tasks: inc.yaml, loop: 'map($env, #)'}]":                                                       "it reads all variables",
		"[{include_tasks: inc.yaml, loop: some}]":                                                                 `site.yaml:2:43: expression "some": unknown name "some" (on h2)`,
		"[{include_tasks: inc.yaml, loop: 'host.name'}]":                                                          `site.yaml:2:43: loop: want a list, got the text "h1"`,
		"[{include_tasks: looped.yaml, loop: [1]}]":                                                               `looped.yaml:1:27: the loop of the include at site.yaml:2:46 has "item" already; choose another name for the item: loop_control: {loop_var: NAME}`,
		"[{include_tasks: labelled.yaml, loop: [1]}]":                                                             `labelled.yaml:1:21: label "l" is inside a loop of an include, so it would exist more than once`,
		"[{include_tasks: inc.yaml, loop: [1], loop_control: {loop_var: host}}]":                                  `the variable "host" belongs to the engine`,
		"[{include_tasks: inc.yaml, loop: [1], retries: 3}]":                                                      `include_tasks does not take "retries"`,
		"[{include_tasks: inc.yaml, loop_control: {loop_var: x}}]":                                                "loop_control needs a loop",
		"[{include_tasks: bad.yaml, loop: [1, 2, 3]}]":                                                            `bad.yaml:1:3: unknown task keyword or module "flie"`,
		"[{include_role: r, loop: [x]}, {include_tasks: inc.yaml, loop: [y], loop_control: {label: '{{ x '}}]":    "template: {{ has no }}",
		"[{block: [{include_tasks: inc.yaml, loop: [x, y]}], when: 1 == 1}, {include_tasks: inc.yaml, loop: {}}]": "loop: want a list, or an expression that gives one",
	} {
		_, err := compileFiles(t, inventoryOf(vars), "site.yaml", "- hosts: all\n  tasks: "+tasks+"\n",
			"inc.yaml", "- file: {path: '/{{ item }}'}\n", "looped.yaml", "- {file: {path: /}, loop: [1]}\n",
			"labelled.yaml", "- {file: {path: /}, label: l}\n", "bad.yaml", "- flie: {}\n", "roles/r/tasks/main.yaml", "[]\n")
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: error %v, want %s", tasks, err, want)
		} else if strings.Count(err.Error(), want) > 1 {
			t.Errorf("%s: said more than once: %v", tasks, err)
		}
	}
}

// TestIncludeLoopOverInventoryVariables: the error for a list that is unknown before the run
// names the value that the inventory variable reads.
func TestIncludeLoopOverInventoryVariables(t *testing.T) {
	h1 := hostVars(t, map[string]any{"disks": "{{ found }}", "found": "{{ facts.disks }}", "known": "{{ [1, 2] }}"})
	for play, want := range map[string]string{
		"tasks: [{include_tasks: inc.yaml, loop: disks}]":                       "any host is contacted, and it reads facts (through the variable at inv.yaml:",
		"vars: {disks: [1]}\n  tasks: [{include_tasks: inc.yaml, loop: disks}]": "",
		"tasks: [{include_tasks: inc.yaml, loop: known}]":                       "",
		"tasks: [{include_tasks: inc.yaml, loop: disks, when: 1 == 2}]":         "",
	} {
		_, err := compileFiles(t, inventoryOf(map[string]map[string]any{"h1": h1, "h2": h1}), "site.yaml", "- hosts: all\n  "+play+"\n",
			"inc.yaml", "- file: {path: '/{{ item }}'}\n")
		if (err != nil) != (want != "") || want != "" && !strings.Contains(err.Error(), want) {
			t.Errorf("%s: error %v, want %q", play, err, want)
		}
	}
}

// TestIncludeLoopWithCondition: a host that never reaches the include needs no value
// for the list.
func TestIncludeLoopWithCondition(t *testing.T) {
	vars := map[string]map[string]any{"h1": {"some": []any{"x"}}, "h2": {}}
	for _, tasks := range []string{
		`[{include_tasks: inc.yaml, loop: some, when: 1 == 1}]`,
		`[{block: [{include_tasks: inc.yaml, loop: some}], when: 1 == 1}]`,
	} {
		lib := inventoryOf(vars)
		p, err := compileFiles(t, lib, "site.yaml", "- hosts: all\n  tasks: "+tasks+"\n", "inc.yaml", "- file: {path: /it}\n")
		if err != nil {
			t.Fatal(err)
		}
		got := fmt.Sprint(pathsOf(t, lib, p, "h1"), pathsOf(t, lib, p, "h2"))
		if !strings.HasPrefix(got, "[/it] [") || !strings.Contains(got, `unknown name "some"`) {
			t.Errorf("%s: %s", tasks, got)
		}
	}
}
