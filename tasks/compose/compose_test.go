package compose

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"

	"deployer/engine"
	"deployer/tasks/controlflow"
	"deployer/tasks/file"
	"deployer/tasks/tasktest"
)

func TestPartsRunInOrder(t *testing.T) {
	t.Parallel()
	sys := tasktest.New(t)
	sys.Write(t, "/etc/a", "old", 0o644)
	parts := []engine.Module{
		&file.Directory{Path: "/etc/d"}, &file.File{Path: "/etc/d/new", Content: new("x")}, &file.File{Path: "/etc/a", Content: new("old")},
		&controlflow.Set{Values: map[string]any{"k": "v"}},
	}
	change, err := Check(t.Context(), sys, parts...)
	if err != nil || !change.Needed {
		t.Fatalf("%+v, %v", change, err)
	}
	if diff := cmp.Diff([]string{"/etc/d: create directory", "/etc/d/new: create"}, tasktest.Actions(change)); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff(engine.Output{"k": "v"}, change.Output); diff != "" {
		t.Error(diff)
	}
	if _, err := Apply(t.Context(), sys, parts...); err != nil {
		t.Fatal(err)
	}
	if change, err := Check(t.Context(), sys, parts...); err != nil || change.Needed {
		t.Errorf("afterwards: %+v, %v", change, err)
	}
}

// TestFailureSkipsLaterParts: later parts depend on earlier ones.
func TestFailureSkipsLaterParts(t *testing.T) {
	t.Parallel()
	sys := tasktest.New(t)
	sys.Mkdir(t, "/etc")
	parts := []engine.Module{&file.File{Path: "/none/x", Content: new("x")}, &file.File{Path: "/etc/after", Content: new("x")}}
	if _, err := Apply(t.Context(), sys, parts...); err == nil || len(sys.Kept()) > 1 {
		t.Errorf("error %v, kept %v", err, sys.Kept())
	}
	_, err := Check(t.Context(), sys, &controlflow.Fail{Msg: "no"})
	if f, ok := errors.AsType[*engine.Failure](err); !ok || f.Message != "no" {
		t.Errorf("error %v", err)
	}
}
