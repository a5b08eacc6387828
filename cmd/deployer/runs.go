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
		Short:   "List, show, follow and purge runs",
		Long: `Runs shows the logs of runs of this user on this machine. The log of each run is in
$XDG_STATE_HOME/deployer/runs (or ~/.local/state/deployer/runs). It is written during
the run, readable by its owner only, and contains no secrets. The logs of the last
200 runs are kept, for at most 90 days and up to 4 GiB.`,
	}, newRunsList(e), newRunsShow(e), newRunsTail(e), newRunsPurge(e))
}

// findRun returns the run whose id begins with the argument, or the last run.
func findRun(args []string) (dir string, r *journal.Record, err error) {
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

// runName returns the name of a run in summaries.
func runName(c journal.Invocation) string {
	if c.Playbook != "" {
		return filepath.Base(c.Playbook)
	}
	return c.Verb
}
