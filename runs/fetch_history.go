package runs

import (
	"context"
	"fmt"

	"deployer/engine"
	"deployer/project"
	"deployer/runs/history"
	"deployer/runs/target"
)

// maxAsked is the number of hosts that are asked for records when the inventory has no
// masters and none are named: as many as have connections at the same time.
const maxAsked = 50

// FetchOptions are the options of FetchHistory.
type FetchOptions struct {
	// Inventory is the file that names the hosts.
	Inventory string
	// Hosts is a pattern of the hosts that are asked; empty for the masters, or without
	// masters the first hosts.
	Hosts string
	// Few limits the hosts that are asked to the number that keep the record of a run.
	Few bool
	// Prompt selects the passwords that are prompted for.
	Prompt target.PromptFlags
	// Whole selects the runs whose logs are read whole; see history.FetchOptions.
	Whole func(all []*history.Entry) []string
}

// FetchHistory returns the logs of this machine and those that hosts keep records of. The
// caller must close it.
func (c Runner) FetchHistory(ctx context.Context, o FetchOptions) (*history.History, error) {
	p, err := project.Load(o.Inventory, c.Options)
	if err != nil {
		return nil, err
	}
	hosts, err := recordHosts(p, o.Hosts)
	if err != nil {
		return nil, err
	}
	if o.Few {
		hosts = hosts[:min(len(hosts), maxKeepers)]
	}
	credentials, err := target.NewCredentials(p, o.Prompt, c.PromptSecret)
	if err != nil {
		return nil, err
	}
	connector, err := target.NewConnector(p, credentials, len(hosts))
	if err != nil {
		return nil, err
	}
	defer connector.Close()
	if err := connector.UnlockKeys(hosts); err != nil {
		return nil, err
	}
	connector.Serve(target.AgentServices{Sink: discardEvents{}})
	h, err := history.Local()
	if err != nil {
		return nil, err
	}
	err = h.Fetch(ctx, history.FetchOptions{Hosts: hosts, Whole: o.Whole, Connect: func(ctx context.Context, host string) (history.Session, error) {
		opened, err := connector.Connect(ctx, host)
		if err != nil {
			return nil, err
		}
		session, ok := opened.(history.Session)
		if !ok {
			return nil, fmt.Errorf("%s keeps no records", host)
		}
		return session, nil
	}})
	if err != nil {
		h.Close()
		return nil, err
	}
	return h, nil
}

// recordHosts returns the hosts that are asked for records.
func recordHosts(p *project.Project, pattern string) ([]string, error) {
	switch {
	case pattern != "":
		hosts, err := p.Match(pattern)
		if err == nil && len(hosts) == 0 {
			err = fmt.Errorf("--from-hosts: pattern %q matches no host", pattern)
		}
		if err != nil {
			return nil, project.AsUserError(err)
		}
		return hosts, nil
	case p.Cluster != nil:
		return p.Cluster.Masters, nil
	}
	return p.Hosts[:min(len(p.Hosts), maxAsked)], nil
}

// discardEvents drops events.
type discardEvents struct{}

func (discardEvents) Emit(engine.Event) {}

// history returns the logs that the runner knows.
func (c Runner) history() (*history.History, error) {
	if c.History != nil {
		return c.History, nil
	}
	return history.Local()
}

// findEntry returns the run whose id begins with name. The header of one of another machine
// gets the inventory and the playbook of the options; verb is that of the caller, for
// errors.
func (c Runner) findEntry(name string, o Options, verb string) (*history.Entry, error) {
	known, err := c.history()
	if err != nil {
		return nil, err
	}
	e, err := known.Find(name)
	if err != nil || e.Here {
		return e, err
	}
	if err := e.RequirePlaybook(o.Playbook, verb); err != nil {
		return nil, err
	}
	inventory := o.Inventory
	if inventory == "" {
		inventory = project.DefaultInventory
	}
	there := *e.Record
	there.Header = history.Relocate(there.Header, project.Absolute(inventory), project.Absolute(o.Playbook))
	here := *e
	here.Record = &there
	return &here, nil
}
