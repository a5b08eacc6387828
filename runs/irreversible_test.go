package runs

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"deployer/engine"
	"deployer/engine/journal"
	"deployer/engine/program"
)

// TestIrreversibleSharesEntries checks that hosts with the same change share an entry,
// also when the text contains the name of the host.
func TestIrreversibleSharesEntries(t *testing.T) {
	list := &irreversibleList{}
	for _, h := range []string{"n1", "n2", "n3"} {
		list.add(h, "logs (/tmp/"+h+"/var/log)", false)
		list.add(h, "migrate", h == "n2")
	}
	list.add("n12", "logs (/tmp/n1/var/log)", false)
	want := []Irreversible{
		{Description: "logs (/tmp/HOST/var/log)", Hosts: []string{"n1", "n2", "n3"}},
		{Description: "migrate", Hosts: []string{"n1", "n2", "n3"}, lasting: true},
		{Description: "logs (/tmp/n1/var/log)", Hosts: []string{"n12"}},
	}
	if diff := cmp.Diff(want, list.all, cmp.AllowUnexported(Irreversible{})); diff != "" {
		t.Error(diff)
	}
}

// TestDrainedNodesHaveRemedy checks that nodes that a run has left drained are listed
// with the command that uncordons them.
func TestDrainedNodesHaveRemedy(t *testing.T) {
	dir := t.TempDir()
	log, err := journal.Create(dir, journal.Header{Run: "r1", Started: time.Now()})
	if err != nil {
		t.Fatal(err)
	}
	did := func(host, step string, effect engine.Effect) {
		log.Emit(engine.Event{Time: time.Now(), Type: engine.EventStepEnd, Host: host, Step: step, Name: step,
			Result: &engine.Result{Status: engine.StatusChanged, Change: &engine.Change{Needed: true, Effects: []engine.Effect{effect}}}})
	}
	for _, host := range []string{"n1", "n2"} {
		did(host, "drain", engine.Effect{Kind: engine.EffectDrain, Target: "the node", Action: "cordon"})
	}
	did("n1", "uncordon", engine.Effect{Kind: engine.EffectObject, Target: "the node", Action: "make schedulable again"})
	did("m1", "drain", engine.Effect{Kind: engine.EffectDrain, Target: "node n3", Action: "cordon"})
	if err := log.Close(); err != nil {
		t.Fatal(err)
	}
	r := &Revert{program: &program.Program{}}
	if r.log, err = readRunLog(journal.Path(dir, "r1")); err != nil {
		t.Fatal(err)
	}
	list := &irreversibleList{}
	for _, host := range []string{"n1", "n2", "m1"} {
		r.withoutBackup(host, nil, list)
	}
	want := []Irreversible{
		{Description: "drain (the node)", Hosts: []string{"n1"}},
		{Description: "uncordon (the node)", Hosts: []string{"n1"}},
		{Description: "drain (the node): the node accepts no pods; run: kubectl uncordon n2", Hosts: []string{"n2"}},
		{Description: "drain (node n3): the node accepts no pods; run: kubectl uncordon n3", Hosts: []string{"m1"}},
	}
	if diff := cmp.Diff(want, list.all, cmp.AllowUnexported(Irreversible{})); diff != "" {
		t.Error(diff)
	}
}

// TestRecordsOfRunsAreNotIrreversible checks that a revert does not list the steps by which
// hosts record that post_tasks are due: no state of the host differs.
func TestRecordsOfRunsAreNotIrreversible(t *testing.T) {
	r := &Revert{log: &runLog{}, program: &program.Program{Tasks: []*program.Task{{ID: "1.play.2", Name: "migrate"}}}}
	due := engine.RolloutRecord{Rollout: "upgrade/minion"}
	done := engine.RolloutRecord{Rollout: "upgrade/minion", Done: true}
	list := &irreversibleList{}
	r.withoutBackup("n1", map[string]engine.RunHistory{"n1": {WithoutBackup: []string{due.ID(), "1.play.2", done.ID()}}}, list)
	if diff := cmp.Diff([]Irreversible{{Description: "migrate", Hosts: []string{"n1"}}}, list.all, cmp.AllowUnexported(Irreversible{})); diff != "" {
		t.Error(diff)
	}
}

// TestTasksAroundRolloutsAreNotIrreversible checks that a revert does not list what it
// repeats: the pre_tasks and post_tasks of a rollout.
func TestTasksAroundRolloutsAreNotIrreversible(t *testing.T) {
	task := func(id string) program.Op {
		return program.Op{Kind: program.OpTask, Task: &program.Task{ID: id, Name: id}}
	}
	body := &program.Block{Begin: 2, End: 4}
	block := &program.Block{Begin: 0, End: 7, Always: 5, Rollout: &program.Rollout{Body: body}}
	ops := []program.Op{
		{Kind: program.OpBlock, Block: block}, task("silence"), {Kind: program.OpBlock, Block: body}, task("migrate"),
		{Kind: program.OpEnd, Block: body}, {Kind: program.OpAlways, Block: block}, task("unsilence"), {Kind: program.OpEnd, Block: block},
	}
	r := &Revert{log: &runLog{}, program: &program.Program{Ops: ops}}
	list := &irreversibleList{}
	r.withoutBackup("n1", map[string]engine.RunHistory{"n1": {WithoutBackup: []string{"silence", "migrate", "unsilence"}}}, list)
	if diff := cmp.Diff([]Irreversible{{Description: "step migrate", Hosts: []string{"n1"}}}, list.all, cmp.AllowUnexported(Irreversible{})); diff != "" {
		t.Error(diff)
	}
}
