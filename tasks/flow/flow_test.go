package flow

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"

	"deployer/engine"
	"deployer/tasks/tasktest"
)

func TestFlow(t *testing.T) {
	t.Parallel()
	sys := tasktest.New(t)
	change := tasktest.Check(t, sys, &Set{Values: map[string]any{"a": "b", "list": []any{"x"}}})
	if diff := cmp.Diff(engine.Output{"a": "b", "list": []any{"x"}}, change.Output); diff != "" || change.Needed {
		t.Error(diff, change.Needed)
	}
	change = tasktest.Check(t, sys, &Debug{Msg: "hello", Value: true})
	if diff := cmp.Diff(engine.Output{"msg": "hello", "value": true}, change.Output); diff != "" || change.Needed {
		t.Error(diff, change.Needed)
	}
	_, _, err := tasktest.Run(t, sys, &Fail{Msg: "no", Detail: "because"})
	failure, ok := errors.AsType[*engine.Failure](err)
	if !ok || failure.Message != "no" || failure.Detail != "because" {
		t.Errorf("failure %+v", failure)
	}
}
