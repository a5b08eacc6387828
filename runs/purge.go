package runs

import (
	"deployer/engine"
	"deployer/engine/revert"
	"deployer/project"
)

// PurgeOptions say what hosts no longer keep.
type PurgeOptions struct {
	Options
	// Purge says of which run, by its whole id, and whether secrets only.
	engine.Purge
}

const verbPurge = "purge"

// Purge makes ready a run that removes from hosts what they keep so that runs can
// be reverted. A host that fails or cannot be reached stops no other.
func (c Runner) Purge(o PurgeOptions) (*Run, error) {
	o.Verb, o.skipVarCheck = verbPurge, true
	p, err := project.Load(o.Inventory, c.Options)
	if err != nil {
		return nil, err
	}
	r, err := c.newRun(p, project.Inline([]byte("[{name: purge, hosts: all, tasks: [{name: purge, debug: {msg: purge}}]}]"), verbPurge), o.Options)
	if err != nil {
		return nil, err
	}
	if r.Program, err = revert.Purge(o.Purge); err != nil {
		return nil, err
	}
	r.logged, r.locks, r.budget = true, true, everyHostMayFail()
	return r, nil
}
