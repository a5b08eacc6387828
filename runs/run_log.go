package runs

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"deployer/cluster"
	"deployer/engine"
	"deployer/engine/journal"
	"deployer/engine/program"
	"deployer/engine/revert"
)

// runLog has the steps of a run, from its log on this machine. Without a log it is
// empty.
type runLog struct {
	hosts     map[string]bool
	changed   map[string][]changedStep   // by host
	reached   map[string]map[string]bool // host -> task -> started, not skipped
	drained   map[string]bool            // nodes that the run has drained and not uncordoned
	unchanged map[string]map[string]bool // host -> step -> ended without a change
	versions  []cluster.VersionChange    // irreversible changes that an upgrade was about to make
}

// changedStep is a step that changed something, or failed while it did.
type changedStep struct {
	step, name, role string
	delegate         string // the changed host of a delegated step; else empty
	targets          []string
	drained          string // the drained node, if any
}

// backupOf returns the host that has the backup of the step, and the step's id there.
func (c changedStep) backupOf(host string) (where, step string) {
	if c.delegate == "" {
		return host, c.step
	}
	return c.delegate, c.step + "/" + host
}

// String returns the description of the step in lists of irreversible changes.
func (c changedStep) String() string {
	text := c.name
	if c.role != "" {
		text = c.role + ": " + text
	}
	if len(c.targets) > 0 {
		text += " (" + strings.Join(c.targets, ", ") + ")"
	}
	return strings.Join(strings.Fields(text), " ")
}

func readRunLog(path string) (*runLog, error) {
	t := &runLog{hosts: map[string]bool{}, changed: map[string][]changedStep{}, reached: map[string]map[string]bool{}, unchanged: map[string]map[string]bool{}, drained: map[string]bool{}}
	err := journal.Scan(path, func(_ *journal.Header, e *engine.Event) error {
		if e == nil || e.Host == "" {
			return nil
		}
		t.hosts[e.Host] = true
		switch {
		case e.Type == engine.EventStepStart:
			t.noteStep(e, true)
		case e.Type == engine.EventStepEnd && e.Result != nil:
			t.noteStep(e, e.Result.Status != engine.StatusSkipped)
			if e.Result.Status == engine.StatusOK {
				where, step := changedStep{step: e.Step, delegate: e.Result.Delegate}.backupOf(e.Host)
				if t.unchanged[where] == nil {
					t.unchanged[where] = map[string]bool{}
				}
				t.unchanged[where][step] = true
			}
			t.noteChange(e)
			t.noteVersions(e)
		}
		return nil
	})
	return t, err
}

// noteStep records that a task was started or skipped on a host; a loop was started
// when one of its items was.
func (t *runLog) noteStep(e *engine.Event, ran bool) {
	if t.reached[e.Host] == nil {
		t.reached[e.Host] = map[string]bool{}
	}
	task := taskOf(e.Step)
	t.reached[e.Host][task] = t.reached[e.Host][task] || ran
}

// taskOf returns the task id of a step id: without loop item, handler run and host of a
// delegation.
func taskOf(step string) string { return step[:strings.IndexAny(step+"#", "#@/")] }

func (t *runLog) noteChange(e *engine.Event) {
	if e.Result.Change == nil || e.Result.Status != engine.StatusChanged && e.Result.Status != engine.StatusFailed {
		return
	}
	c := changedStep{step: e.Step, name: e.Name, role: e.Role, delegate: e.Result.Delegate}
	for _, effect := range e.Result.Change.Pending() {
		switch node, is := nodeTarget(e.Host, effect.Target); {
		case is && effect.Kind == engine.EffectDrain:
			c.drained, t.drained[node] = node, true
		case is && e.Result.Status == engine.StatusChanged:
			delete(t.drained, node) // a later change of a drained node uncordons it
		}
		if effect.Target != "" && len(c.targets) < 3 {
			c.targets = append(c.targets, effect.Target)
		}
	}
	t.changed[e.Host] = append(t.changed[e.Host], c)
}

// nodeTarget returns the node that an effect of drain or uncordon names.
func nodeTarget(host, target string) (node string, is bool) {
	if target == "the node" {
		return host, true
	}
	return strings.CutPrefix(target, "node ")
}

// asRevertLog returns the log for package revert; nil when this machine has none.
func (t *runLog) asRevertLog() revert.Log {
	if t.reached == nil {
		return nil
	}
	return t
}

// Skipped implements revert.Log.
func (t *runLog) Skipped(host, task string) bool {
	ran, known := t.reached[host][task]
	return known && !ran
}

// Ran implements revert.Log.
func (t *runLog) Ran(host, task string) bool { return t.reached[host][task] }

// movedTasks lists tasks that changed something in the run and have another position in
// the program now. Names with expressions are not compared.
func (t *runLog) movedTasks(prog *program.Program) []string {
	now := map[string]*program.Task{}
	for _, task := range prog.Tasks {
		now[task.ID] = task
	}
	for _, p := range prog.Plays {
		for _, h := range p.Handlers {
			now[h.ID] = h
		}
	}
	moved := map[string]bool{}
	for _, steps := range t.changed {
		for _, c := range steps {
			id := taskOf(c.step)
			if task := now[id]; task == nil || task.Role != c.role || !task.MayHaveTitle(c.name) {
				moved[fmt.Sprintf("%q was step %s", c.name, id)] = true
			}
		}
	}
	return slices.Sorted(maps.Keys(moved))
}
