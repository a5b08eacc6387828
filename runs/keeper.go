package runs

import (
	"sync"
	"time"

	"deployer/engine"
	"deployer/engine/sanitize"
	"deployer/keeper/status"
	"deployer/project"
)

// KeeperStatus returns a run that reads what the keepers of the masters do.
func (c Runner) KeeperStatus(o Options) (*Run, error) {
	o.Verb = "keeper-status"
	return c.withoutArtifacts(o)
}

// KeeperPauseOptions are the settings of [Runner.KeeperPause].
type KeeperPauseOptions struct {
	Resume bool          // end the pause
	For    time.Duration // 0: until somebody resumes
	Reason string
}

// KeeperPause returns a run that pauses the keepers, or lets them act again. It takes no run lock: a
// person who stops a keeper need not wait for it.
func (c Runner) KeeperPause(o Options, k KeeperPauseOptions) (*Run, error) {
	o.Verb = "keeper-pause"
	o.Extra = mergeVars(o.Extra, map[string]any{"keeper_resume": k.Resume, "keeper_pause_for": k.For.String(), "keeper_by": whoami(), "keeper_reason": k.Reason})
	return c.logged(o)
}

// NodeMaintenance returns a run that marks the nodes of patterns as ones on which somebody works, for a
// time, or removes the marks when the time is 0. It takes no run lock.
func (c Runner) NodeMaintenance(o Options, patterns []string, during time.Duration, reason string) (*Run, error) {
	o.Verb = "node-maintenance"
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

// Keepers collects the output of the task keeper_state. It is safe for concurrent use.
type Keepers struct {
	mu    sync.Mutex
	found *KeeperState
}

// KeeperState is what the keepers say of themselves.
type KeeperState struct {
	Pause   *status.Pause            `json:"pause"`
	Keepers map[string]status.Status `json:"keepers"` // by host
}

// Emit implements engine.Sink.
func (k *Keepers) Emit(e engine.Event) {
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
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.found
}

// clean makes the texts safe to show: who may write the ConfigMap may write anything.
func (s *KeeperState) clean() {
	cut := func(texts ...*string) {
		for _, t := range texts {
			*t = sanitize.FirstLine(*t, maxText)
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
			cut(&one.Done[i].Action, &one.Done[i].Object, &one.Done[i].Why, &one.Done[i].Result)
		}
		s.Keepers[name] = one
	}
}
