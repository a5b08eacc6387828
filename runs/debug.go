package runs

import (
	"deployer/engine/journal"
	"deployer/project"
	"deployer/runs/debug"
	"deployer/runs/target"
)

// Debug returns a run that prepares the hosts of the limit for a session of deployer debug. A
// failed host stops no other; the run has no log and takes no run lock, so that it works beside
// another run.
func (c Runner) Debug(s debug.Session, o Options) (*Run, error) {
	o.Verb = journal.VerbDebug
	b, err := s.Playbook()
	if err != nil {
		return nil, err
	}
	p, err := project.Load(o.Inventory, c.Options)
	if err != nil {
		return nil, err
	}
	r, err := c.newRun(p, b, o)
	if err != nil {
		return nil, err
	}
	r.budget, r.unlocked = everyHostMayFail(), true
	return r, nil
}

// OpenConnector returns a connector to the hosts of the run, for programs beside its
// agents. Prepare must have been called; OpenConnector does not repeat its prompts.
// The caller closes it.
func (r *Run) OpenConnector() (*target.Connector, error) {
	connector, err := target.NewConnector(r.Project, r.credentials, len(r.Hosts))
	if err != nil {
		return nil, err
	}
	if err := connector.UnlockKeys(r.Hosts); err != nil {
		connector.Close()
		return nil, err
	}
	return connector, nil
}
