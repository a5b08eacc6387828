package main

import (
	"context"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"deployer/engine/journal"
	"deployer/engine/sanitize"
	"deployer/project"
	"deployer/runs"
	"deployer/runs/history"
	"deployer/runs/target"
)

// historyOptions are the flags of verbs that read the logs of runs.
type historyOptions struct {
	Inventory string
	Prompt    target.PromptFlags
	fromHosts string // pattern, or recordKeepers; empty without the flag
}

// recordKeepers is the value of --from-hosts without a pattern.
const recordKeepers = "keepers"

// flags adds all flags to a verb that has none of them yet.
func (o *historyOptions) flags(cmd *cobra.Command) {
	inventoryFlag(cmd, &o.Inventory)
	promptFlags(cmd, &o.Prompt)
	o.fromHostsFlag(cmd)
}

// fromHostsFlag adds --from-hosts.
func (o *historyOptions) fromHostsFlag(cmd *cobra.Command) {
	f := cmd.Flags()
	f.StringVar(&o.fromHosts, "from-hosts", "", "also read the records that hosts keep of runs: the masters, or without masters the first hosts, or those of a `pattern`")
	f.Lookup("from-hosts").NoOptDefVal = recordKeepers
	_ = cmd.RegisterFlagCompletionFunc("from-hosts", completePattern) // it fails only for an unknown flag
}

// open returns the logs of this machine and, with --from-hosts or when they do not
// suffice, the records of hosts. whole selects runs that are read whole; see
// history.FetchOptions. The caller must close the history.
func (o historyOptions) open(ctx context.Context, c runs.Runner, e env, suffice func([]*history.Entry) bool, whole func([]*history.Entry) []string) (*history.History, error) {
	local, err := history.Local()
	if err != nil {
		return nil, err
	}
	asked := o.fromHosts != ""
	if !asked {
		all, _ := local.List()
		if !exists(o.Inventory) || suffice(all) {
			return local, nil
		}
	}
	pattern := o.fromHosts
	if pattern == recordKeepers {
		pattern = ""
	}
	fetched, err := c.FetchHistory(ctx, runs.FetchOptions{Inventory: o.Inventory, Hosts: pattern, Prompt: o.Prompt, Whole: whole})
	switch {
	case err != nil && asked:
		return nil, err
	case err != nil:
		fmt.Fprintf(e.stderr, "deployer: this machine has no such run, and the hosts of %s give no records: %v\n", o.Inventory, err)
		return local, nil
	}
	for _, host := range slices.Sorted(maps.Keys(fetched.Failed)) {
		fmt.Fprintf(e.stderr, "deployer: records of %s: %s\n", host, sanitize.Line(fetched.Failed[host].Error()))
	}
	return fetched, nil
}

// openFor returns a runner for a verb that continues or reverts a run, with the history
// that open returns. The runner remembers passwords, because hosts may be asked twice: for their
// records and in the run. The caller must close the runner's history.
func (o historyOptions) openFor(ctx context.Context, e env, suffice func([]*history.Entry) bool, whole func([]*history.Entry) []string) (runs.Runner, error) {
	runner := newRunner(e)
	runner.PromptSecret = rememberPasswords(runner.PromptSecret)
	var err error
	runner.History, err = o.open(ctx, runner, e, suffice, whole)
	return runner, err
}

// ofInventory reports whether a run is one of the inventory, as hosts of the inventory have
// recorded it or as the log of this machine says.
func (o historyOptions) ofInventory(r *history.Entry) bool {
	return len(r.Keepers) > 0 || r.Header.Invocation.Inventory == project.Absolute(o.Inventory)
}

// anyEntry returns a function that reports whether a run is selected.
func anyEntry(selected func(*history.Entry) bool) func([]*history.Entry) bool {
	return func(all []*history.Entry) bool { return slices.ContainsFunc(all, selected) }
}

// hasRun returns a function that reports whether the logs have the named run or, without a
// name, a run of the inventory of -i, or any.
func (o historyOptions) hasRun(cmd *cobra.Command, args []string) func([]*history.Entry) bool {
	return func(all []*history.Entry) bool {
		switch {
		case len(args) == 1:
			return slices.ContainsFunc(all, func(r *history.Entry) bool { return strings.HasPrefix(r.Header.Run, args[0]) }) && hasAll(all, selectRun(args)(all))
		case cmd.Flags().Changed("inventory"):
			return slices.ContainsFunc(all, o.ofInventory)
		}
		return len(all) > 0
	}
}

// findRun returns the run that newestOf selects. It fails when the inventory of -i has none.
func (o historyOptions) findRun(cmd *cobra.Command, known *history.History, args []string) (*history.Entry, error) {
	all, err := known.List()
	selected := o.newestOf(cmd, args, all)
	if len(selected) == 0 && cmd.Flags().Changed("inventory") && err == nil {
		return nil, usageError(fmt.Errorf("there is no run of %s, on this machine or on the hosts that were asked", o.Inventory))
	}
	return findRun(known, selected)
}

// newestOf returns the arguments of a command that shows a run: with -i and without a name, the
// newest run of the inventory.
func (o historyOptions) newestOf(cmd *cobra.Command, args []string, all []*history.Entry) []string {
	if len(args) > 0 || !cmd.Flags().Changed("inventory") {
		return args
	}
	for _, r := range all {
		if o.ofInventory(r) {
			return []string{r.Header.Run}
		}
	}
	return args
}

// selectRun selects the named run, or the newest, with the runs that it reverts.
func selectRun(args []string) func([]*history.Entry) []string {
	return func(all []*history.Entry) []string {
		var newest *history.Entry
		if len(all) > 0 {
			newest = all[0]
		}
		return history.Follow(all, named(all, args, newest), reverts)
	}
}

// reverts returns the run that a run reverts; empty for none.
func reverts(h journal.Header) string { return h.Invocation.Reverts }

// hasAll reports whether the logs have all runs of a selection.
func hasAll(all []*history.Entry, selected []string) bool {
	return !slices.ContainsFunc(selected, func(run string) bool { return len(history.Match(all, run)) == 0 })
}

// hasUnfinished returns a function that reports whether the logs of this machine are enough
// to find the run that is to be resumed, the runs that it reverts, and its plan.
func (o historyOptions) hasUnfinished(args []string) func([]*history.Entry) bool {
	return func(all []*history.Entry) bool {
		if len(args) == 0 && !slices.ContainsFunc(all, o.ofInventory) {
			return false
		}
		if len(args) == 1 && !slices.ContainsFunc(all, func(r *history.Entry) bool { return strings.HasPrefix(r.Header.Run, args[0]) }) {
			return false
		}
		selected := selectUnfinished(args, o.Inventory)(all)
		if !hasAll(all, selected) {
			return false
		}
		for _, run := range selected {
			for _, r := range all {
				if plan := r.Header.Plan; r.Header.Run == run && plan != nil {
					_, err := os.Stat(plan.File)
					return err == nil
				}
			}
		}
		return true
	}
}

// selectUnfinished selects the run that resume continues and, for a revert, the runs that it
// reverts: of a rollback the whole upgrade.
func selectUnfinished(args []string, inventory string) func([]*history.Entry) []string {
	return func(all []*history.Entry) []string {
		if _, next := runs.NextRollback(all, inventory); len(args) == 0 && next != "" {
			return runs.UpgradeChain(all, inventory, next)
		}
		out := history.Follow(all, named(all, args, runs.LastUnfinished(all, inventory)), reverts)
		if len(out) > 1 {
			for _, run := range runs.UpgradeChain(all, inventory, out[len(out)-1]) {
				if !slices.Contains(out, run) {
					out = append(out, run)
				}
			}
		}
		return out
	}
}

// named returns the id of the named run or, without a name, of the given one; empty for none.
func named(all []*history.Entry, args []string, without *history.Entry) string {
	switch {
	case len(args) == 1:
		return strings.Join(history.Match(all, args[0]), "")
	case without != nil:
		return without.Header.Run
	}
	return ""
}

// hasUpgrade returns a function that reports whether the logs of this machine have the
// named run or, without a name, an upgrade of the inventory that can be rolled back.
func (o historyOptions) hasUpgrade(args []string) func([]*history.Entry) bool {
	return func(all []*history.Entry) bool {
		selected := selectUpgrade(args, o.Inventory)(all)
		return len(selected) > 0 && hasAll(all, selected)
	}
}

// selectUpgrade selects the runs of the upgrade that rollback reverts. Without a name it
// also selects those whose logs must be read whole to find it.
func selectUpgrade(args []string, inventory string) func([]*history.Entry) []string {
	return func(all []*history.Entry) []string {
		if len(args) == 1 {
			name := named(all, args, nil)
			if name == "" {
				return nil
			}
			return runs.UpgradeChain(all, inventory, name)
		}
		return append(runs.UpgradeChain(all, inventory, ""), runs.Undecided(all, inventory)...)
	}
}

// rememberPasswords returns a prompter that asks for the login password and for the
// privilege-escalation password once: records are read before the run.
func rememberPasswords(ask target.Prompter) target.Prompter {
	answers := map[string]string{}
	return func(question string) (string, error) {
		if answer, known := answers[question]; known {
			return answer, nil
		}
		answer, err := ask(question)
		if err == nil && target.IsPasswordPrompt(question) {
			answers[question] = answer
		}
		return answer, err
	}
}

// exists reports whether a file can be found at path.
func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}
