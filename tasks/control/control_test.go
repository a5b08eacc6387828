package control_test

import (
	"testing"

	"deployer/engine"
	"deployer/tasks/control"
)

func TestActionsAreActionsAndDocumented(t *testing.T) {
	engine.NewRegistry(control.Actions()) // panics on duplicates
	for _, k := range control.Actions() {
		if _, ok := k.New().(engine.Action); !ok {
			t.Errorf("%s is no action", k.Name)
		}
		if k.Doc == "" {
			t.Errorf("%s has no sentence for the reference", k.Name)
		}
	}
}
