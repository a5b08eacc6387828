package compile

import (
	"context"
	"testing"

	"deployer/engine"
	"deployer/engine/lang"
	"deployer/engine/program"
)

// lookArgs is a module that is read-only, or waits, or does neither.
type lookArgs struct {
	Look bool   `yaml:"look"`
	Wait string `yaml:"wait"`
}

func (*lookArgs) Check(context.Context, engine.System) (engine.Change, error) {
	return engine.Change{}, nil
}

func (*lookArgs) Apply(context.Context, engine.System, engine.Change) (engine.Output, error) {
	return nil, nil
}

func (l *lookArgs) ReadOnly() bool { return l.Look }

func (l *lookArgs) Gate() any {
	if l.Wait == "" {
		return nil
	}
	return &lookArgs{Wait: "again " + l.Wait}
}

func lookers(t *testing.T) map[string]*program.Task {
	t.Helper()
	reg := registry()
	reg["look"] = engine.Kind{Name: "look", New: func() any { return &lookArgs{} }}
	lib := &Compiler{Registry: reg}
	p, err := lib.Compile(lang.Tree{FS: files("site.yaml", `
- hosts: all
  vars: {way: north, none: ""}
  tasks:
    - {name: looks, look: {look: true}, when: a == 1}
    - {name: waits, look: {wait: x}}
    - {name: may wait, look: {wait: "{{ way }}"}, when: a == 1}
    - {name: need not wait, look: {wait: "{{ none }}"}}
    - {name: "file of {{ way }}", file: {path: /x}, register: r}
`)}, "site.yaml")
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]*program.Task{}
	for _, task := range p.Tasks {
		out[task.Name] = task
	}
	return out
}

func TestReadOnlyAndGate(t *testing.T) {
	tasks := lookers(t)
	for name, want := range map[string][2]bool{
		"looks": {true, false}, "waits": {false, true}, "may wait": {false, true}, "need not wait": {false, true}, "file of {{ way }}": {false, false},
	} {
		task := tasks[name]
		if task.ReadOnly() != want[0] || (task.Gate(nil) != nil) != want[1] {
			t.Errorf("%s: looks %t, gate %v", name, task.ReadOnly(), task.Gate(nil) != nil)
		}
	}
	vars := lang.NewVars(map[string]any{"a": 1}, nil)
	for name, want := range map[string]string{"waits": "again x", "may wait": "again north", "need not wait": ""} {
		gate := tasks[name].Gate(nil)
		if gate.FixedArgs != nil || gate.ID != tasks[name].ID {
			t.Errorf("%s: %+v", name, gate)
		}
		if err := vars.PushScope(gate.Scopes, gate.Refs()); err != nil {
			t.Fatal(err)
		}
		got, err := gate.BuildArgs(vars)
		if built, _ := got.(*lookArgs); err != nil || (built == nil) != (want == "") || built != nil && built.Wait != want {
			t.Errorf("%s: %+v, %v", name, got, err)
		}
	}
	if refs := tasks["may wait"].WhenRefs(); !refs.Has("a") {
		t.Error("the task's own condition looks at a")
	}
	if gate := tasks["may wait"].Gate(nil); gate.WhenRefs().Has("a") || gate.Refs().Has("a") || !gate.Refs().Has("way") {
		t.Error("the gate looks at what its conditions looked at, or not at what its arguments do")
	}
}

func TestReplacing(t *testing.T) {
	file := lookers(t)["file of {{ way }}"]
	other, err := file.Replacing("undo", "revert", engine.Revert{Run: "r1"})
	if err != nil {
		t.Fatal(err)
	}
	if string(other.FixedArgs) != `{"Run":"r1"}` || other.Kind.Name != "revert" || other.Register != "" || other.ID != "undo" {
		t.Errorf("got %+v", other)
	}
	vars := lang.NewVars(nil, nil)
	if err := vars.PushScope(other.Scopes, other.Refs()); err != nil {
		t.Fatal(err)
	}
	if got, err := other.Title(vars); err != nil || got != "file of north" {
		t.Errorf("its name is %q", got)
	}
	// Variables that no longer exist cannot be in the name.
	if got, err := other.Title(lang.NewVars(nil, nil)); err != nil || got != "file of {{ way }}" {
		t.Errorf("its name is %q, %v", got, err)
	}
}
