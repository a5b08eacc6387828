package runs

import (
	"fmt"
	"slices"

	"deployer/engine/journal"
	"deployer/project"
)

// Unfinished finds the run that is named, by the beginning of its id, or without a
// name the last one of an inventory that did not come to its end. That there is
// none, or nothing left to do of it, is a mistake of the user's.
func Unfinished(name, inventory string) (*journal.Record, error) {
	dir, err := journal.Dir()
	if err != nil {
		return nil, err
	}
	r, err := findUnfinished(dir, name, project.Absolute(inventory))
	if err == nil {
		err = requireUnfinished(r)
	}
	if err != nil {
		return nil, project.AsUserError(err)
	}
	return r, nil
}

func findUnfinished(dir, name, inventory string) (*journal.Record, error) {
	if name != "" {
		return journal.Find(dir, name)
	}
	all, err := journal.List(dir)
	if err != nil && len(all) == 0 {
		return nil, err
	}
	r := lastUnfinished(all, inventory)
	if r == nil {
		return nil, fmt.Errorf("nothing to resume: every run of %s came to its end; see deployer runs list", project.Relative(inventory))
	}
	return r, nil
}

// lastUnfinished picks the newest run of an inventory that is not finished, that
// no later run went on from and finished, and that no later run has done all of.
func lastUnfinished(newestFirst []*journal.Record, inventory string) *journal.Record {
	var done []journal.Invocation
	completed := map[string]bool{} // runs that others went on from, to their end
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

// Resumable tells whether a later run can finish what this one began: a command
// that exec ran somewhere is nothing that could be left unfinished.
func Resumable(c journal.Invocation) bool {
	return c.Verb == verbRun || c.Verb == verbInstall || c.Verb == verbRevert
}

func requireUnfinished(r *journal.Record) error {
	run := r.Header.Run
	switch {
	case !Resumable(r.Header.Invocation):
		return fmt.Errorf("run %s cannot be resumed: it was deployer %s; give the command again", run, r.Header.Invocation.Verb)
	case r.Outcome == journal.Running:
		return fmt.Errorf("run %s goes on, as process %d; follow it with: deployer runs tail %s", run, r.Header.PID, run)
	case r.Finished():
		return fmt.Errorf("nothing to resume: run %s came to its end", run)
	}
	return nil
}
