package runs

import (
	"errors"
	"testing"

	"deployer/engine"
	"deployer/engine/journal"
	"deployer/tasks/control/upgrade"
)

// TestRollbackRefusesLowerMinors checks which minor versions a rollback refuses to lower:
// API servers need the flag, etcd is refused in any case, and only what the run has
// changed counts.
func TestRollbackRefusesLowerMinors(t *testing.T) {
	changes := []string{"kube-apiserver of m1: v1.35.4 to v1.36.3", "etcd of e1: v3.5.26 to v3.6.8"}
	apiserver := changedStep{targets: []string{"/etc/kubernetes/manifests/kube-apiserver.yaml"}}
	etcd := changedStep{targets: []string{"/usr/local/bin/etcd", "/usr/local/bin/etcdctl"}}
	for name, c := range map[string]struct {
		changed                map[string][]changedStep
		lowered                int
		refused, refusedByFlag bool
	}{
		"no host was changed":              {nil, 0, false, false},
		"an API server was changed":        {map[string][]changedStep{"m1": {apiserver}}, 1, true, false},
		"a member of etcd was changed":     {map[string][]changedStep{"e1": {etcd}}, 1, true, true},
		"API server and etcd were changed": {map[string][]changedStep{"m1": {apiserver}, "e1": {etcd}}, 2, true, true},
	} {
		log := logged(t, engine.Event{Type: engine.EventStepEnd, Host: "m1", Step: "s", Result: &engine.Result{Host: "m1", Step: "s", Status: engine.StatusOK,
			Change: &engine.Change{Effects: []engine.Effect{{Kind: engine.EffectShow, Target: upgrade.IrreversibleTarget, Action: changes[0]}, {Kind: engine.EffectShow, Target: upgrade.IrreversibleTarget, Action: changes[1]}}}}})
		log.changed = c.changed
		back := &Revert{log: log}
		without, with := refuseLowered(back.lowered(), false), refuseLowered(back.lowered(), true)
		var refused *RefusedError
		if len(back.Lowered()) != c.lowered || errors.As(without, &refused) != c.refused || errors.As(with, &refused) != c.refusedByFlag {
			t.Errorf("%s: %q, %v, %v", name, back.Lowered(), without, with)
		}
	}
}

// logged returns the run log of an event as it is in the log of a run, which keeps no
// outputs.
func logged(t *testing.T, e engine.Event) *runLog {
	t.Helper()
	dir := t.TempDir()
	log, err := journal.Create(dir, journal.Header{Run: "r1"})
	if err != nil {
		t.Fatal(err)
	}
	log.Emit(e)
	if err := log.Close(); err != nil {
		t.Fatal(err)
	}
	read, err := readRunLog(journal.Path(dir, "r1"))
	if err != nil {
		t.Fatal(err)
	}
	return read
}
