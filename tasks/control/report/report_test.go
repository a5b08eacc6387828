package report

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"deployer/engine"
)

// TestRowsOfAModuleBelongToItsHost: a hostile host reports problems of itself only, whatever host
// its rows name; the rows of an action may belong to any host or to the cluster.
func TestRowsOfAModuleBelongToItsHost(t *testing.T) {
	t.Parallel()
	out := engine.Output{"checks": []any{
		map[string]any{"check": "unit", "host": "m1", "detail": "etcd.service is not active"},
		map[string]any{"check": "unit", "host": "", "detail": "for the cluster"},
		map[string]any{"check": "unit", "detail": "its own"},
		"no row",
	}}
	rows := func(hosts ...string) []Row {
		return []Row{
			{Check: "unit", Host: hosts[0], Detail: "etcd.service is not active"},
			{Check: "unit", Host: hosts[1], Detail: "for the cluster"},
			{Check: "unit", Host: hosts[2], Detail: "its own"},
		}
	}
	for name, tt := range map[string]struct {
		result engine.Result
		want   []Row
	}{
		"module":           {engine.Result{Output: out}, rows("n1", "n1", "n1")},
		"delegated module": {engine.Result{Output: out, Delegate: "n2"}, rows("n2", "n2", "n2")},
		"action":           {engine.Result{Output: out, OnController: true}, rows("m1", "", "n1")},
		"without rows":     {engine.Result{Output: engine.Output{"checks": "none"}}, nil},
	} {
		e := engine.Event{Type: engine.EventStepEnd, Host: "n1", Result: &tt.result}
		if diff := cmp.Diff(tt.want, OfStep(e)); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
}
