package main

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"deployer/operations"
	"deployer/runs"
	"deployer/runs/history"
	"deployer/runs/target"
)

// historyOptions are the flags of verbs that read the logs of runs.
type historyOptions struct {
	operations.Logs
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

// open returns the logs that a verb wants. The caller must close the history.
func (o historyOptions) open(ctx context.Context, c runs.Runner, e env, want operations.Wanted) (*history.History, error) {
	logs := o.Logs
	logs.FromHosts = o.fromHosts != ""
	if o.fromHosts != recordKeepers {
		logs.Hosts = o.fromHosts
	}
	return logs.Open(ctx, c, want, func(text string) { fmt.Fprintf(e.stderr, "deployer: %s\n", text) })
}

// openFor returns a runner for a verb that continues or reverts a run, with the history
// that open returns. The runner remembers passwords, because hosts may be asked twice: for their
// records and in the run. The caller must close the runner's history.
func (o historyOptions) openFor(ctx context.Context, e env, want operations.Wanted) (runs.Runner, error) {
	runner := newRunner(e)
	runner.PromptSecret = rememberPasswords(runner.PromptSecret)
	var err error
	runner.History, err = o.open(ctx, runner, e, want)
	return runner, err
}

// wantedRun is the run that a verb names or, without a name, the newest one: with -i that of the
// inventory.
func (o historyOptions) wantedRun(cmd *cobra.Command, args []string) operations.Wanted {
	return o.Run(strings.Join(args, ""), cmd.Flags().Changed("inventory"))
}

// findRun returns the run of wantedRun. It fails when the inventory of -i has none.
func (o historyOptions) findRun(cmd *cobra.Command, known *history.History, args []string) (*history.Entry, error) {
	if len(args) > 0 || !cmd.Flags().Changed("inventory") {
		return findRun(known, args)
	}
	all, err := known.List()
	newest := o.NewestOfInventory(all)
	if newest == "" && err == nil {
		return nil, usageError(fmt.Errorf("there is no run of %s, on this machine or on the hosts that were asked", o.Inventory))
	}
	if newest == "" {
		return findRun(known, args)
	}
	return findRun(known, []string{newest})
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
