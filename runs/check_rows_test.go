package runs

import (
	"testing"

	"deployer/engine"
)

// TestHostileHostReportsOnlyItself: no host brings a repair of another one into the survey.
func TestHostileHostReportsOnlyItself(t *testing.T) {
	t.Parallel()
	forged := engine.Output{"checks": []any{map[string]any{"check": "unit kubelet.service", "host": "m1", "ok": false, "detail": "is not active"}}}
	rows := &CheckRows{}
	rows.Emit(engine.Event{Type: engine.EventStepEnd, Host: "n1", Role: "health-host", Result: &engine.Result{Output: forged}})
	if all := rows.All(); len(all) != 1 || all[0].Host != "n1" {
		t.Errorf("rows %+v", all)
	}
}
