package runs

import (
	"fmt"
	"slices"

	"deployer/engine/journal"
	"deployer/project"
)

// Unfinished returns the run whose id begins with name, or, for an empty name, the last
// run of the inventory that did not complete. It returns a *project.UserError when there
// is none, or when the run has completed or still runs.
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
		return nil, fmt.Errorf("nothing to resume: every run of %s has completed; see deployer runs list", project.Relative(inventory))
	}
	return r, nil
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

// Resumable reports whether runs of an invocation can be resumed. Runs of exec cannot:
// a command is not repeated.
func Resumable(c journal.Invocation) bool {
	return slices.Contains([]string{verbRun, verbInstall, verbRevert, verbScaleUp, verbScaleDown, verbReset}, c.Verb)
}

func requireUnfinished(r *journal.Record) error {
	run := r.Header.Run
	switch {
	case !Resumable(r.Header.Invocation):
		return fmt.Errorf("run %s of deployer %s cannot be resumed; give the command again", run, r.Header.Invocation.Verb)
	case r.Outcome == journal.Running:
		return fmt.Errorf("run %s is still running, as process %d; follow it with: deployer runs tail %s", run, r.Header.PID, run)
	case r.Finished():
		return fmt.Errorf("nothing to resume: run %s has completed", run)
	}
	return nil
}
