package runs

import (
	"deployer/engine"
	"deployer/engine/journal"
	"deployer/engine/revert"
	"deployer/project"
)

// PurgeOptions select the backups that hosts remove.
type PurgeOptions struct {
	Options
	// Purge selects a run, by its whole id, and all backups or only those of secrets.
	engine.Purge
}

// Purge returns a run that removes backups from hosts. A failed or unreachable host
// stops no other.
func (c Runner) Purge(o PurgeOptions) (*Run, error) {
	o.Verb, o.skipVarCheck = journal.VerbPurge, true
	p, err := project.Load(o.Inventory, c.Options)
	if err != nil {
		return nil, err
	}
	r, err := c.newRun(p, project.Inline([]byte("[{name: purge, hosts: all, tasks: [{name: purge, debug: {msg: purge}}]}]"), journal.VerbPurge), o.Options)
	if err != nil {
		return nil, err
	}
	if r.Program, err = revert.Purge(o.Purge); err != nil {
		return nil, err
	}
	r.logged, r.locks, r.budget = true, true, everyHostMayFail()
	return r, nil
}
