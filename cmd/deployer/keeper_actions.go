package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"text/tabwriter"

	"deployer/engine/journal"
	"deployer/project"
	"deployer/runs"
)

// keeperActions reads what the keepers of the inventory did: the newest actions, the oldest first. A host that gives
// none is named on stderr; when none does, that is an error. An inventory without keepers has none.
func (o historyOptions) keeperActions(ctx context.Context, e env, runner runs.Runner, number int) ([]runs.KeeperAction, error) {
	none := []runs.KeeperAction{}
	p, err := project.Load(o.Inventory, runner.Options)
	if err != nil || p.Cluster == nil || !p.Cluster.Keeper.Enabled {
		return none, err
	}
	r, err := runner.KeeperActions(runs.Options{Invocation: journal.Invocation{Inventory: o.Inventory}, Prompt: o.Prompt}, number)
	if err != nil {
		return none, err
	}
	found := &runs.Keepers{}
	done, err := runWithDisplay(ctx, r, runOptions{output: "text"}.progressDisplay(e.stderr, r.TargetHosts()).with(found), r.Do)
	if err != nil {
		return none, err
	}
	if done.Interrupted {
		return none, exitSilently(exitInterrupted)
	}
	broken := done.Broken()
	for _, h := range broken {
		fmt.Fprintf(e.stderr, "deployer: actions of the keeper of %s: %s\n", h.Host, h.Failure.Message)
	}
	if len(broken) == len(done.Hosts) {
		return none, errors.New("no master gives the actions of its keeper")
	}
	actions := found.Actions()
	return actions[max(0, len(actions)-number):], nil
}

// printKeeperActions prints a table of what keepers did.
func printKeeperActions(w io.Writer, actions []runs.KeeperAction) error {
	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "TIME\tKEEPER\tACTION\tOBJECT\tRESULT\tWHY")
	for _, a := range actions {
		fmt.Fprintf(table, "%s\t%s\t%s\t%s\t%s\t%s\n", a.Time.Local().Format("2006-01-02 15:04:05"), a.Host, a.Action, a.Object, a.Result, a.Why)
	}
	return table.Flush()
}

// addKeeperActions prints the table below other output; nothing when there are no actions.
func addKeeperActions(w io.Writer, actions []runs.KeeperAction) error {
	if len(actions) == 0 {
		return nil
	}
	fmt.Fprintln(w)
	return printKeeperActions(w, actions)
}
