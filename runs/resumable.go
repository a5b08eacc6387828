package runs

import (
	"fmt"
	"slices"

	"deployer/engine/journal"
	"deployer/project"
	"deployer/runs/history"
)

// Unfinished returns the run whose id begins with name, or, for an empty name, the last
// run of the inventory that did not complete. Unfinished returns a *project.UserError when there
// is none, or when the run has completed or still runs. The header of a run of another
// machine has the inventory and the playbook of the options, whose playbook must be given
// when the run has one.
func (c Runner) Unfinished(name string, o Options) (*history.Entry, error) {
	r, err := c.findUnfinished(name, o)
	if err == nil {
		err = requireUnfinished(r)
	}
	if err != nil {
		return nil, project.AsUserError(err)
	}
	return r, nil
}

func (c Runner) findUnfinished(name string, o Options) (*history.Entry, error) {
	if name != "" {
		return c.findEntry(name, o, "resume")
	}
	known, err := c.history()
	if err != nil {
		return nil, err
	}
	all, err := known.List()
	if err != nil && len(all) == 0 {
		return nil, err
	}
	r := LastUnfinished(all, o.Inventory)
	if r == nil {
		return nil, fmt.Errorf("nothing to resume: every run of %s has completed; see deployer runs list", project.Relative(project.Absolute(o.Inventory)))
	}
	return c.findEntry(r.Header.Run, o, "resume")
}

// LastUnfinished returns the run that a resume without an id continues; nil for none. Runs
// of other machines, which hosts of the inventory have recorded, are runs of it.
func LastUnfinished(newestFirst []*history.Entry, inventory string) *history.Entry {
	inventory = project.Absolute(inventory)
	records := make([]*journal.Record, len(newestFirst))
	for i, e := range newestFirst {
		records[i] = e.Record
		if !e.Here {
			there := *e.Record
			there.Header.Invocation.Inventory = inventory
			records[i] = &there
		}
	}
	r := lastUnfinished(records, inventory)
	for i := range records {
		if records[i] == r {
			return newestFirst[i]
		}
	}
	return nil
}

// lastUnfinished returns the newest unfinished run of an inventory that no later run has
// resumed to its end, and whose hosts and tasks no later run covers.
func lastUnfinished(newestFirst []*journal.Record, inventory string) *journal.Record {
	var done []journal.Invocation
	completed := map[string]bool{} // ids of runs that later runs resumed
	for _, r := range newestFirst {
		call := r.Header.Invocation
		if call.Inventory != inventory || !Resumable(call) {
			continue
		}
		covered := slices.ContainsFunc(done, func(d journal.Invocation) bool { return d.Covers(call) })
		switch {
		case r.Finished():
			done = append(done, call)
		case !covered && !completed[r.Header.Run]:
			return r
		}
		if r.Header.Resumes != "" {
			completed[r.Header.Resumes] = true
		}
	}
	return nil
}

func requireUnfinished(r *history.Entry) error {
	run := r.Header.Run
	switch {
	case !Resumable(r.Header.Invocation):
		return fmt.Errorf("run %s of deployer %s cannot be resumed; give the command again", run, r.Header.Invocation.Verb)
	case r.Outcome == journal.Running && !r.Here:
		return fmt.Errorf("run %s is still running, by %s as process %d there; follow it with: deployer runs show %s --from-hosts", run, r.Header.By, r.Header.PID, run)
	case r.Outcome == journal.Running:
		return fmt.Errorf("run %s is still running, as process %d; follow it with: deployer runs tail %s", run, r.Header.PID, run)
	case r.Finished():
		return fmt.Errorf("nothing to resume: run %s has completed", run)
	}
	return nil
}
