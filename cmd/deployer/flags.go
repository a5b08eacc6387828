package main

import (
	"github.com/spf13/cobra"

	"deployer/project"
	"deployer/runs"
	"deployer/runs/target"
)

// runOptions are the flags of verbs that connect to hosts.
type runOptions struct {
	runs.Options
	variables []string // values of --extra-vars, as typed
	lock      string
	output    string
	verbose   int
	diff      bool
}

// The values of --lock.
const (
	lockCluster = "cluster"
	lockHosts   = "hosts"
)

// resolve returns the options of the run: it parses --extra-vars and --lock.
func (o runOptions) resolve() (out runs.Options, err error) {
	out = o.Options
	out.LockHosts = o.lock == lockHosts
	out.Extra, err = extraVars(o.variables)
	return out, err
}

// inventoryFlag adds -i to a verb.
func inventoryFlag(cmd *cobra.Command, path *string) {
	cmd.Flags().StringVarP(path, "inventory", "i", project.DefaultInventory, "inventory file")
}

// promptFlags adds the flags that prompt for passwords.
func promptFlags(cmd *cobra.Command, a *target.PromptFlags) {
	cmd.Flags().BoolVarP(&a.Login, "ask-pass", "k", false, "prompt for the SSH login password, for hosts without a password in the inventory")
	cmd.Flags().BoolVarP(&a.Become, "ask-become-pass", "K", false, "prompt for the privilege-escalation password, for hosts without one in the inventory")
}

// runFlags adds the flags of verbs that run a playbook.
func runFlags(cmd *cobra.Command, o *runOptions) {
	inventoryFlag(cmd, &o.Inventory)
	promptFlags(cmd, &o.Prompt)
	outputFlag(cmd, &o.output, "text", "json")
	verboseFlag(cmd, o)
	forksFlag(cmd, o, "forks of the inventory, or 50")
}

func verboseFlag(cmd *cobra.Command, o *runOptions) {
	cmd.Flags().CountVarP(&o.verbose, "verbose", "v", "show unchanged steps and diffs; -vv also shows skipped steps and waits")
}

func forksFlag(cmd *cobra.Command, o *runOptions, otherwise string) {
	cmd.Flags().IntVar(&o.Forks, "forks", 0, "maximum number of hosts processed in parallel (default: "+otherwise+")")
}

// variablesFlag adds -e to a verb.
func variablesFlag(cmd *cobra.Command, o *runOptions, usage string) {
	cmd.Flags().StringArrayVarP(&o.variables, "extra-vars", "e", nil, "set `variables` "+usage+"; may be repeated")
}

// lockFlags adds the flags of verbs that hold the run lock.
func lockFlags(cmd *cobra.Command, o *runOptions) {
	lockTimeoutFlag(cmd, o)
	noRestoreFlag(cmd, o)
	o.lock = lockCluster
	cmd.Flags().Var(&enumFlag{&o.lock, []string{lockCluster, lockHosts}}, "lock",
		"lock the cluster (its masters too), or only the hosts of this run")
}

// noRestoreFlag adds --no-restore to verbs that execute rollouts.
func noRestoreFlag(cmd *cobra.Command, o *runOptions) {
	cmd.Flags().BoolVar(&o.NoRestore, "no-restore", false, "keep the changed state of a host that fails in a rollout, for examination; the run still stops")
}

func lockTimeoutFlag(cmd *cobra.Command, o *runOptions) {
	cmd.Flags().DurationVar(&o.LockTimeout, "lock-timeout", 0, "wait this long for the run lock of hosts that another run holds (default: refuse at once)")
}

// playFlags adds the flags of verbs that run user playbooks.
func playFlags(cmd *cobra.Command, o *runOptions) {
	f := cmd.Flags()
	f.BoolVarP(&o.Check, "check", "C", false, "change nothing, show what would change")
	f.BoolVarP(&o.diff, "diff", "D", false, "show diffs of files")
	selectFlags(cmd, o)
}

// selectFlags adds the flags that select hosts and tasks of a playbook for a run, and set
// variables.
func selectFlags(cmd *cobra.Command, o *runOptions) {
	taskFlags(cmd, o)
	cmd.Flags().BoolVar(&o.Step, "step", false, "ask before each task; hosts then wait for each other at each task")
}

// limitFlag adds the flag that selects hosts.
func limitFlag(cmd *cobra.Command, o *runOptions) {
	cmd.Flags().StringVarP(&o.Limit, "limit", "l", "", "limit the run to the hosts of a `pattern`")
	_ = cmd.RegisterFlagCompletionFunc("limit", completePattern) // it fails only for an unknown flag
}

// taskFlags adds the flags that select hosts and tasks of a playbook, and set variables.
func taskFlags(cmd *cobra.Command, o *runOptions) {
	limitFlag(cmd, o)
	f := cmd.Flags()
	f.StringSliceVarP(&o.Tags, "tags", "t", nil, "run only tasks with one of these tags")
	f.StringSliceVar(&o.SkipTags, "skip-tags", nil, "skip tasks with one of these tags")
	f.StringVar(&o.StartAt, "start-at", "", "skip all tasks before the task of this `name`")
	variablesFlag(cmd, o, "that override all others: NAME=VALUE, @FILE or {mapping}")
}
