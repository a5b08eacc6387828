package runs

import (
	"errors"
	"testing"

	"deployer/engine"
	"deployer/engine/journal"
	"deployer/tasks/control/upgrade"
)

// TestLastUpgrade checks which run rollback selects when none is named.
func TestLastUpgrade(t *testing.T) {
	record := func(run, verb, reverts string, outcome engine.Outcome) *journal.Record {
		return &journal.Record{Outcome: outcome, Header: journal.Header{Run: run, Invocation: journal.Invocation{Verb: verb, Inventory: "/i", Reverts: reverts}}}
	}
	other := record("9", verbUpgrade, "", engine.OutcomeDone)
	other.Header.Invocation.Inventory = "/other"
	idle := record("4", verbUpgrade, "", engine.OutcomeDone)
	idle.Report = &engine.Report{Hosts: []engine.HostReport{{Host: "m1", OK: 7}}}
	for name, c := range map[string]struct {
		all  []*journal.Record // newest first
		want string
	}{
		"none":                       {[]*journal.Record{record("1", verbInstall, "", engine.OutcomeDone), other}, ""},
		"the newest":                 {[]*journal.Record{record("3", verbInstall, "", engine.OutcomeDone), record("2", verbUpgrade, "", journal.Killed), record("1", verbUpgrade, "", engine.OutcomeDone)}, "2"},
		"the newest is taken back":   {[]*journal.Record{record("3", verbRevert, "2", engine.OutcomeDone), record("2", verbUpgrade, "", engine.OutcomeDone), record("1", verbUpgrade, "", engine.OutcomeDone)}, "1"},
		"the newest changed nothing": {[]*journal.Record{idle, record("2", verbUpgrade, "", engine.OutcomeDone)}, "2"},
		"its rollback did not end":   {[]*journal.Record{record("3", verbRevert, "2", journal.Killed), record("2", verbUpgrade, "", engine.OutcomeDone)}, "2"},
	} {
		got := ""
		if r := lastUpgrade(c.all, "/i"); r != nil {
			got = r.Header.Run
		}
		if got != c.want {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}

// TestRollbackRefusesLowerMinors checks what a log makes of an upgrade: API servers need
// the flag, etcd is refused in any case, and only what the run has really changed counts.
func TestRollbackRefusesLowerMinors(t *testing.T) {
	changes := "kube-apiserver of m1: v1.35.4 to v1.36.3\netcd of e1: v3.5.26 to v3.6.8"
	apiserver := changedStep{targets: []string{"/etc/kubernetes/manifests/kube-apiserver.yaml"}}
	etcd := changedStep{targets: []string{"/usr/local/bin/etcd", "/usr/local/bin/etcdctl"}}
	for name, c := range map[string]struct {
		changed                map[string][]changedStep
		lowered                int
		refused, refusedByFlag bool
	}{
		"nothing came to its turn": {nil, 0, false, false},
		"an API server":            {map[string][]changedStep{"m1": {apiserver}}, 1, true, false},
		"etcd":                     {map[string][]changedStep{"e1": {etcd}}, 1, true, true},
		"both":                     {map[string][]changedStep{"m1": {apiserver}, "e1": {etcd}}, 2, true, true},
	} {
		log := logged(t, engine.Event{Type: engine.EventStepEnd, Host: "m1", Step: "s", Result: &engine.Result{Host: "m1", Step: "s", Status: engine.StatusOK,
			Change: &engine.Change{Effects: []engine.Effect{{Kind: engine.EffectShow, Target: upgrade.IrreversibleTarget, Diff: changes}}}}})
		log.changed = c.changed
		back := &Rollback{Revert: &Revert{log: log}}
		back.note()
		var refused *RefusedError
		if len(back.Lowered) != c.lowered || errors.As(back.Refuse(false), &refused) != c.refused || errors.As(back.Refuse(true), &refused) != c.refusedByFlag {
			t.Errorf("%s: %q, %v, %v", name, back.Lowered, back.Refuse(false), back.Refuse(true))
		}
	}
}

// logged returns what is read of an event from the log of a run, which keeps no outputs.
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
