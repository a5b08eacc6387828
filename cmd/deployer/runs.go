package main

import (
	"errors"
	"path/filepath"

	"github.com/spf13/cobra"

	"deployer/engine/journal"
	"deployer/runs/history"
)

func newRunsCommand(e env) *cobra.Command {
	return group(&cobra.Command{
		Use:     "runs",
		GroupID: "runs",
		Short:   "List, show, follow and purge runs",
		Long: `Runs shows the logs of runs of this user on this machine. The log of each run is in
$XDG_STATE_HOME/deployer/runs (or ~/.local/state/deployer/runs). It is written during
the run, readable by its owner only, and contains no secrets. The logs of the last
200 runs are kept, for at most 90 days and up to 4 GiB.

The masters of a cluster, or the first hosts of a run without masters, keep a record
of each run that changes hosts: its log without diffs. List and show read it with
--from-hosts, and without that flag when this machine has no such run.`,
	}, newRunsList(e), newRunsShow(e), newRunsTail(e), newRunsKeeper(e), newRunsPurge(e))
}

// findRun returns the run whose id begins with the argument, or the last run.
func findRun(h *history.History, args []string) (*history.Entry, error) {
	if len(args) == 1 {
		r, err := h.Find(args[0])
		if err != nil {
			return nil, usageError(err)
		}
		return r, nil
	}
	all, err := h.List()
	if len(all) == 0 {
		if err == nil {
			err = usageError(errors.New("there are no runs on this machine; to look for them on the hosts of an inventory, use -i INVENTORY --from-hosts"))
		}
		return nil, err
	}
	return h.Find(all[0].Header.Run)
}

// runName returns the name of a run in summaries.
func runName(c journal.Invocation) string {
	if c.Playbook != "" {
		return filepath.Base(c.Playbook)
	}
	return c.Verb
}
