package runs

import (
	"cmp"
	"slices"
	"strings"
	"sync"
	"time"

	"deployer/engine"
	"deployer/engine/journal"
	"deployer/engine/sanitize"
	"deployer/keeper/actionlog"
	"deployer/keeper/status"
	"deployer/project"
)

// KeeperStatus returns a run that reads what the keepers of the masters do, and what they did.
func (c Runner) KeeperStatus(o Options) (*Run, error) {
	o.Verb = journal.VerbKeeperStatus
	return c.withoutArtifacts(o)
}

// KeeperActions returns a run that reads what the keepers of the masters did: of each the newest actions, at most
// number. It needs no API.
func (c Runner) KeeperActions(o Options, number int) (*Run, error) {
	o.Verb = journal.VerbKeeperActions
	o.Extra = mergeVars(o.Extra, map[string]any{"keeper_actions_number": min(number, maxKeeperActions)})
	return c.withoutArtifacts(o)
}

// maxKeeperActions is the maximum number of actions that are read of a keeper.
const maxKeeperActions = 200

// KeeperPauseOptions are the settings of [Runner.KeeperPause].
type KeeperPauseOptions struct {
	Resume bool          // end the pause
	For    time.Duration // 0: until somebody resumes
	Reason string
}

// KeeperPause returns a run that pauses the keepers, or lets them act again. It takes no run lock: a
// person who stops a keeper need not wait for it.
func (c Runner) KeeperPause(o Options, k KeeperPauseOptions) (*Run, error) {
	o.Verb = journal.VerbKeeperPause
	o.Extra = mergeVars(o.Extra, map[string]any{"keeper_resume": k.Resume, "keeper_pause_for": k.For.String(), "keeper_by": whoami(), "keeper_reason": k.Reason})
	return c.logged(o)
}

// NodeMaintenance returns a run that marks the nodes of patterns as ones on which somebody works, for a
// time, or removes the marks when the time is 0. It takes no run lock.
func (c Runner) NodeMaintenance(o Options, patterns []string, during time.Duration, reason string) (*Run, error) {
	o.Verb = journal.VerbNodeMaintenance
	inv, err := c.inventory(o.Inventory)
	if err != nil {
		return nil, err
	}
	nodes, err := project.SelectHosts(inv, patterns)
	if err != nil {
		return nil, err
	}
	names := make([]any, len(nodes))
	for i, name := range nodes {
		names[i] = name
	}
	o.Extra = mergeVars(o.Extra, map[string]any{"maintenance_nodes": names, "maintenance_for": during.String(), "maintenance_by": whoami(), "maintenance_reason": reason})
	return c.logged(o)
}

// logged returns a run that changes objects of the cluster, needs no artifacts and takes no run lock.
func (c Runner) logged(o Options) (*Run, error) {
	r, err := c.withoutArtifacts(o)
	if err != nil {
		return nil, err
	}
	r.logged = true
	return r, nil
}

// Keepers collects the outputs of the tasks keeper_state and keeper_actions. It is safe for concurrent use.
type Keepers struct {
	mu      sync.Mutex
	found   *KeeperState
	actions []KeeperAction
}

// KeeperState is what the keepers say of themselves.
type KeeperState struct {
	Pause   *status.Pause            `json:"pause"`
	Keepers map[string]status.Status `json:"keepers"` // by host
	Actions []KeeperAction           `json:"actions"` // what they did, the oldest first
}

// KeeperAction is an action of a keeper with its outcome.
type KeeperAction struct {
	Host string `json:"host"` // of the keeper
	actionlog.Entry
}

// Emit implements engine.Sink.
func (k *Keepers) Emit(e engine.Event) {
	if e.Type == engine.EventStepEnd && e.Result != nil && e.Result.Output["keeper_actions"] != nil {
		k.addActions(e.Host, e.Result.Output)
		return
	}
	out := e.ActionOutput()
	if out["keepers"] == nil {
		return
	}
	var found KeeperState
	if out.Decode(&found) != nil {
		return
	}
	found.clean()
	k.mu.Lock()
	defer k.mu.Unlock()
	k.found = &found
}

// State returns what was collected; nil when the run did not get that far.
func (k *Keepers) State() *KeeperState {
	actions := k.Actions()
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.found == nil {
		return nil
	}
	out := *k.found
	out.Actions = actions
	return &out
}

// addActions adds the actions that a host has of its keeper.
func (k *Keepers) addActions(host string, out engine.Output) {
	var found struct {
		Actions []actionlog.Entry `json:"keeper_actions"`
	}
	if out.Decode(&found) != nil {
		return // the output of another task
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	for _, e := range found.Actions[:min(len(found.Actions), maxKeeperActions)] {
		k.actions = append(k.actions, KeeperAction{host, cleanEntry(e)})
	}
}

// Actions returns what keepers did, the oldest first: what their hosts have in files, and what the status has of
// keepers whose hosts gave nothing.
func (k *Keepers) Actions() []KeeperAction {
	k.mu.Lock()
	defer k.mu.Unlock()
	known, out := map[KeeperAction]bool{}, []KeeperAction{}
	add := func(a KeeperAction) {
		if a.Time = a.Time.UTC(); !known[a] {
			known[a] = true
			out = append(out, a)
		}
	}
	for _, a := range k.actions {
		add(a)
	}
	if k.found != nil {
		for host, s := range k.found.Keepers {
			for _, e := range s.Done {
				add(KeeperAction{host, e})
			}
		}
	}
	slices.SortFunc(out, func(a, b KeeperAction) int { return cmp.Or(a.Time.Compare(b.Time), strings.Compare(a.Host, b.Host)) })
	return out
}

// cleanEntry makes the texts of an entry safe to show.
func cleanEntry(e actionlog.Entry) actionlog.Entry {
	for _, text := range []*string{&e.Action, &e.Object, &e.Why, &e.Result} {
		*text = sanitize.FirstLine(sanitize.Text(*text), maxText)
	}
	return e
}

// clean makes the texts safe to show: who may write the ConfigMap may write anything.
func (s *KeeperState) clean() {
	cut := func(texts ...*string) {
		for _, t := range texts {
			*t = sanitize.FirstLine(sanitize.Text(*t), maxText)
		}
	}
	if s.Pause != nil {
		cut(&s.Pause.By, &s.Pause.Reason)
	}
	for name, one := range s.Keepers {
		cut(&one.Host, &one.Version)
		for i := range one.Conditions {
			cut(&one.Conditions[i].Type, &one.Conditions[i].Reason, &one.Conditions[i].Message)
		}
		for i := range one.Problems {
			cut(&one.Problems[i].Reason, &one.Problems[i].Message)
		}
		for i := range one.Done {
			one.Done[i] = cleanEntry(one.Done[i])
		}
		s.Keepers[name] = one
	}
}
