package control_test

import (
	"testing"

	"deployer/engine"
	"deployer/tasks/control"
)

func TestActionsImplementActionAndAreDocumented(t *testing.T) {
	engine.NewRegistry(control.Actions()) // panics on duplicates
	for _, k := range control.Actions() {
		if _, ok := k.New().(engine.Action); !ok {
			t.Errorf("%s does not implement engine.Action", k.Name)
		}
		if k.Doc == "" {
			t.Errorf("%s has no Doc", k.Name)
		}
	}
}
