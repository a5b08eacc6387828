package compile

import (
	"testing"

	"deployer/engine/lang"
)

// layer is a place that gives the variable v a value: its own name.
type layer struct {
	name string
	put  func(s *layeredSite)
}

// layeredSite is a site whose role reads v in a task with all layers around it.
type layeredSite struct {
	files       map[string]string
	base, fixed map[string]any
}

// layers are in the order of Ansible, in which a later one wins. ansible-core 2.14 gives the
// same answer for each pair, with parameters of a role written as {role: r, v: VALUE}.
var layers = []layer{
	{"role defaults", func(s *layeredSite) { s.files["roles/r/defaults/main.yaml"] = "v: role defaults" }},
	{"inventory", func(s *layeredSite) { s.base["v"] = "inventory" }},
	{"play", func(s *layeredSite) { s.files["play"] = "{v: play}" }},
	{"import_playbook", func(s *layeredSite) { s.files["import"] = "{v: import_playbook}" }},
	{"vars_files", func(s *layeredSite) { s.files["of_play.yaml"] = "v: vars_files" }},
	{"role vars", func(s *layeredSite) { s.files["roles/r/vars/main.yaml"] = "v: role vars" }},
	{"block around the role", func(s *layeredSite) { s.files["outer"] = "{v: block around the role}" }},
	{"block", func(s *layeredSite) { s.files["block"] = "{v: block}" }},
	{"task", func(s *layeredSite) { s.files["task"] = "{v: task}" }},
	{"include_vars", func(s *layeredSite) { s.files["roles/r/vars/more.yaml"] = "v: include_vars" }},
	{"set", func(s *layeredSite) { s.files["set"] = "{v: set}" }},
	{"role parameters", func(s *layeredSite) { s.files["params"] = "{v: role parameters}" }},
	{"include parameters", func(s *layeredSite) { s.files["include"] = "{v: include parameters}" }},
	{"command line", func(s *layeredSite) { s.fixed["v"] = "command line" }},
}

// TestPrecedenceOfEachPair: of two layers, alone in the site, the later one wins.
func TestPrecedenceOfEachPair(t *testing.T) {
	for i, low := range layers {
		for _, high := range layers[i+1:] {
			if got := valueWith(t, low, high); got != high.name {
				t.Errorf("with %s and %s, v is %q", low.name, high.name, got)
			}
		}
		if got := valueWith(t, low); got != low.name {
			t.Errorf("with %s alone, v is %q", low.name, got)
		}
	}
}

// TestPrecedenceOfAllLayers: with every layer up to one, that one wins.
func TestPrecedenceOfAllLayers(t *testing.T) {
	for i, top := range layers {
		if got := valueWith(t, layers[:i+1]...); got != top.name {
			t.Errorf("with all layers up to %s, v is %q", top.name, got)
		}
	}
}

// valueWith returns v as a task of the role reads it when the given layers have it.
func valueWith(t *testing.T, given ...layer) any {
	t.Helper()
	s := &layeredSite{files: map[string]string{}, base: map[string]any{"host": map[string]any{"name": "h"}}, fixed: map[string]any{}}
	for _, l := range given {
		l.put(s)
	}
	part := func(name string) string {
		if text := s.files[name]; text != "" {
			return text
		}
		return "{}"
	}
	tasks := "- include_tasks: inner.yaml\n  vars: " + part("include") + "\n"
	if s.files["include"] == "" {
		tasks = "- include_tasks: inner.yaml\n"
	}
	inner := "- block: [{file: {path: '{{ v }}'}, vars: " + part("task") + "}]\n  vars: " + part("block") + "\n"
	if text := s.files["set"]; text != "" {
		inner = "- set: {values: " + text + "}\n" + inner
	}
	if s.files["roles/r/vars/more.yaml"] != "" {
		inner = "- include_vars: more.yaml\n" + inner
	}
	p := mustCompile(t,
		"site.yaml", "- import_playbook: play.yaml\n  vars: "+part("import")+"\n",
		"play.yaml", "- hosts: all\n  vars: "+part("play")+"\n  vars_files: [of_play.yaml]\n  tasks:\n    - vars: "+part("outer")+"\n      block: [{include_role: q}]\n",
		"of_play.yaml", part("of_play.yaml"),
		"roles/q/meta/main.yaml", "dependencies: [{role: r, vars: "+part("params")+"}]\n",
		"roles/r/defaults/main.yaml", part("roles/r/defaults/main.yaml"),
		"roles/r/vars/main.yaml", part("roles/r/vars/main.yaml"),
		"roles/r/vars/more.yaml", part("roles/r/vars/more.yaml"),
		"roles/r/tasks/main.yaml", tasks,
		"roles/r/tasks/inner.yaml", inner)
	vars := lang.NewVars(s.base, s.fixed)
	for _, task := range p.Tasks {
		mark := vars.Depth()
		if err := vars.PushScope(task.Scopes, task.Refs()); err != nil {
			t.Fatal(err)
		}
		args, err := task.BuildArgs(vars)
		if err != nil {
			t.Fatal(err)
		}
		vars.PopTo(mark)
		switch args := args.(type) {
		case *fileArgs:
			return args.Path
		case *setArgs:
			for name, value := range args.Values {
				vars.Define(name, value)
			}
		}
	}
	t.Fatal("the site has no file task")
	return nil
}
