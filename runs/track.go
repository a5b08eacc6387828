package runs

import (
	"fmt"
	"slices"
	"strings"

	"deployer/engine"
	"deployer/engine/journal"
	"deployer/engine/playbook"
	"deployer/engine/revert"
)

// track is what the log of a run on this machine says of its steps.
type track struct {
	hosts   map[string]bool
	changed map[string][]changedStep   // by host
	ended   map[string]map[string]bool // host -> task -> whether it was begun, not skipped
	open    map[string]bool            // nodes that the run has drained and not made schedulable again
	idle    map[string]map[string]bool // host -> step -> it ended and has changed nothing, as its task says
}

// changedStep is a step that changed something, or that failed in doing so.
type changedStep struct {
	step, name, role string
	delegate         string // the host that has changed; empty for the step's own
	targets          []string
	drained          string // a node
}

// keptAs is the host that has kept what the step changed, and the step's id there.
func (c changedStep) keptAs(host string) (where, step string) {
	if c.delegate == "" {
		return host, c.step
	}
	return c.delegate, c.step + "/" + host
}

// String is the step as a list of what cannot be put back names it.
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

func trackOf(path string) (*track, error) {
	t := &track{hosts: map[string]bool{}, changed: map[string][]changedStep{}, ended: map[string]map[string]bool{}, idle: map[string]map[string]bool{}, open: map[string]bool{}}
	err := journal.Scan(path, func(_ *journal.Header, e *engine.Event) error {
		if e == nil || e.Host == "" {
			return nil
		}
		t.hosts[e.Host] = true
		switch {
		case e.Type == engine.StepStart:
			t.came(e, true)
		case e.Type == engine.StepEnd && e.Result != nil:
			t.came(e, e.Result.Status != engine.Skipped)
			if e.Result.Status == engine.OK {
				where, step := changedStep{step: e.Step, delegate: e.Result.Delegate}.keptAs(e.Host)
				if t.idle[where] == nil {
					t.idle[where] = map[string]bool{}
				}
				t.idle[where][step] = true
			}
			t.step(e)
		}
		return nil
	})
	return t, err
}

// came notes that a task was begun or skipped; of a loop one item is enough.
func (t *track) came(e *engine.Event, ran bool) {
	if t.ended[e.Host] == nil {
		t.ended[e.Host] = map[string]bool{}
	}
	task := taskOf(e.Step)
	t.ended[e.Host][task] = t.ended[e.Host][task] || ran
}

// taskOf is the task of a step: without the item of a loop, how often a
// handler ran, and the host that it was delegated for.
func taskOf(step string) string { return step[:strings.IndexAny(step+"#", "#@/")] }

func (t *track) step(e *engine.Event) {
	if e.Result.Change == nil || e.Result.Status != engine.Altered && e.Result.Status != engine.Failed {
		return
	}
	c := changedStep{step: e.Step, name: e.Name, role: e.Role, delegate: e.Result.Delegate}
	for _, effect := range e.Result.Change.Pending() {
		switch node, is := nodeOf(e.Host, effect.Target); {
		case is && effect.Kind == engine.EffectDrain:
			c.drained, t.open[node] = node, true
		case is && e.Result.Status == engine.Altered:
			delete(t.open, node) // what else is done to a node after that is to let pods on it again
		}
		if effect.Target != "" && len(c.targets) < 3 {
			c.targets = append(c.targets, effect.Target)
		}
	}
	t.changed[e.Host] = append(t.changed[e.Host], c)
}

// nodeOf is the node that a drain, or the end of one, names as its target.
func nodeOf(host, target string) (node string, is bool) {
	if target == "the node" {
		return host, true
	}
	return strings.CutPrefix(target, "node ")
}

// log is the track as a revert asks for it; nil when this machine has none.
func (t *track) log() revert.Log {
	if t.ended == nil {
		return nil
	}
	return t
}

// Skipped implements revert.Log.
func (t *track) Skipped(host, task string) bool {
	ran, known := t.ended[host][task]
	return known && !ran
}

// Ran implements revert.Log.
func (t *track) Ran(host, task string) bool { return t.ended[host][task] }

// moved names tasks that changed something in the run and are not at their place
// in the program any more. Names with templates are not compared.
func (t *track) moved(prog *playbook.Program) []string {
	now := map[string]*playbook.Task{}
	for _, task := range prog.Tasks {
		now[task.ID] = task
	}
	for _, p := range prog.Plays {
		for _, h := range p.Handlers {
			now[h.ID] = h
		}
	}
	var out []string
	for _, steps := range t.changed {
		for _, c := range steps {
			id := taskOf(c.step)
			text := fmt.Sprintf("%q was its step %s", c.name, id)
			if task := now[id]; task != nil && task.Role == c.role && task.Titled(c.name) || slices.Contains(out, text) {
				continue
			}
			out = append(out, text)
		}
	}
	slices.Sort(out)
	if more := len(out) - 3; more > 0 {
		out = append(out[:3], fmt.Sprintf("and %d more", more))
	}
	return out
}
