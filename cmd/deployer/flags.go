package main

import (
	"github.com/spf13/cobra"

	"deployer/project"
	"deployer/runs"
	"deployer/runs/target"
)

// runOptions are the flags of verbs that reach hosts: what is run, and how it is
// shown.
type runOptions struct {
	runs.Options
	variables []string // of --extra-vars, as they were typed
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

// options are the flags in the form that a run takes.
func (o runOptions) options() (out runs.Options, err error) {
	out = o.Options
	out.LockHosts = o.lock == lockHosts
	out.Extra, err = extraVars(o.variables)
	return out, err
}

// inventoryFlag adds -i to a verb.
func inventoryFlag(cmd *cobra.Command, path *string) {
	cmd.Flags().StringVarP(path, "inventory", "i", project.DefaultInventory, "inventory file")
}

// askFlags are the flags of verbs that reach hosts.
func askFlags(cmd *cobra.Command, a *target.PromptFlags) {
	cmd.Flags().BoolVarP(&a.Login, "ask-pass", "k", false, "ask for the password to log in with, for hosts that have none in the inventory")
	cmd.Flags().BoolVarP(&a.Become, "ask-become-pass", "K", false, "ask for the password to become root with, likewise")
}

// runFlags are the flags of verbs that run a playbook.
func runFlags(cmd *cobra.Command, o *runOptions) {
	inventoryFlag(cmd, &o.Inventory)
	askFlags(cmd, &o.Prompt)
	outputFlag(cmd, &o.output, "text", "json")
	verboseFlag(cmd, o)
	forksFlag(cmd, o, "the inventory's, or 50")
}

func verboseFlag(cmd *cobra.Command, o *runOptions) {
	cmd.Flags().CountVarP(&o.verbose, "verbose", "v", "show unchanged steps and diffs; twice: skipped steps and waits too")
}

func forksFlag(cmd *cobra.Command, o *runOptions, otherwise string) {
	cmd.Flags().IntVar(&o.Forks, "forks", 0, "most hosts that are worked on at once (default: "+otherwise+")")
}

// variablesFlag adds -e to a verb.
func variablesFlag(cmd *cobra.Command, o *runOptions, usage string) {
	cmd.Flags().StringArrayVarP(&o.variables, "extra-vars", "e", nil, "`variables` "+usage+"; may be given again")
}

// lockFlags are the flags of verbs that change hosts and so exclude each other.
func lockFlags(cmd *cobra.Command, o *runOptions) {
	lockTimeoutFlag(cmd, o)
	putBackFlag(cmd, o)
	o.lock = lockCluster
	cmd.Flags().Var(&choice{&o.lock, []string{lockCluster, lockHosts}}, "lock",
		"what other runs must stay away from: the cluster (its masters are locked too), or only the hosts of this run")
}

// putBackFlag is for verbs that change hosts in rollouts.
func putBackFlag(cmd *cobra.Command, o *runOptions) {
	cmd.Flags().BoolVar(&o.NoPutBack, "no-put-back", false, "leave a host as it is when it fails in a rollout after it was changed, for a look; the run stops all the same")
}

func lockTimeoutFlag(cmd *cobra.Command, o *runOptions) {
	cmd.Flags().DurationVar(&o.LockTimeout, "lock-timeout", 0, "how long to wait for another run that holds the hosts (default: be refused)")
}

// playFlags are the flags of verbs that carry out playbooks of the user's own.
func playFlags(cmd *cobra.Command, o *runOptions) {
	f := cmd.Flags()
	f.BoolVarP(&o.Check, "check", "C", false, "change nothing, show what would be changed")
	f.BoolVarP(&o.diff, "diff", "D", false, "show how files differ")
	selectFlags(cmd, o)
}

// selectFlags say what of a playbook is carried out, and with which variables.
func selectFlags(cmd *cobra.Command, o *runOptions) {
	f := cmd.Flags()
	f.StringVarP(&o.Limit, "limit", "l", "", "only these hosts, as a `pattern`")
	_ = cmd.RegisterFlagCompletionFunc("limit", completePattern) // it fails only for a flag that is not there
	f.StringSliceVarP(&o.Tags, "tags", "t", nil, "only tasks with one of these tags")
	f.StringSliceVar(&o.SkipTags, "skip-tags", nil, "no tasks with one of these tags")
	f.StringVar(&o.StartAt, "start-at", "", "leave out what comes before the task of this `name`")
	f.BoolVar(&o.Step, "step", false, "ask before each task; hosts then go through the tasks together")
	variablesFlag(cmd, o, "that win over all others: NAME=VALUE, @FILE or {mapping}")
}
