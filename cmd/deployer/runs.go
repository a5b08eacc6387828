package main

import (
	"fmt"
	"path/filepath"

	"github.com/spf13/cobra"

	"deployer/engine/journal"
)

func newRunsCommand(e env) *cobra.Command {
	return group(&cobra.Command{
		Use:     "runs",
		GroupID: "runs",
		Short:   "Look at the logs of runs that changed hosts, and remove what hosts keep of them",
		Long: `Runs looks at what was run from this machine by this user. The log of each run is
in $XDG_STATE_HOME/deployer/runs (or ~/.local/state/deployer/runs), written as
things happen and readable by its owner only; secrets are not in it. The last 200
runs are kept, none longer than 90 days, and no more than 4 GiB.`,
	}, newRunsList(e), newRunsShow(e), newRunsTail(e), newRunsPurge(e))
}

// theRun finds the run that is named, or the last one.
func theRun(args []string) (dir string, r *journal.Record, err error) {
	if dir, err = journal.Dir(); err != nil {
		return "", nil, err
	}
	if len(args) == 1 {
		r, err = journal.Find(dir, args[0])
		if err != nil {
			return "", nil, usageError(err)
		}
		return dir, r, nil
	}
	all, err := journal.List(dir)
	if len(all) == 0 {
		if err == nil {
			err = usageError(fmt.Errorf("there are no runs in %s", dir))
		}
		return "", nil, err
	}
	r, err = journal.Read(journal.Path(dir, all[0].Header.Run))
	return dir, r, err
}

// runName is how summaries call a run.
func runName(c journal.Invocation) string {
	if c.Playbook != "" {
		return filepath.Base(c.Playbook)
	}
	return c.Verb
}
