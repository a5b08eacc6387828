package main

import (
	"os"
	"os/user"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"deployer/engine/journal"
	"deployer/engine/lock"
	"deployer/engine/schedule"
	"deployer/project"
)

// The values of --lock.
const (
	lockCluster = "cluster"
	lockHosts   = "hosts"
)

// lockFlags are the flags of verbs that change hosts and so exclude each other.
func lockFlags(cmd *cobra.Command, o *runOptions) {
	f := cmd.Flags()
	f.DurationVar(&o.lockTimeout, "lock-timeout", 0, "how long to wait for another run that holds the hosts (default: be refused)")
	o.lock = lockCluster
	f.Var(&choice{&o.lock, []string{lockCluster, lockHosts}}, "lock",
		"what other runs must stay away from: the cluster (its masters are locked too), or only the hosts of this run")
}

// callOf is what was asked for with these options.
func callOf(verb, file string, o runOptions) journal.Call {
	return journal.Call{
		Verb: verb, Playbook: project.Absolute(file), Inventory: project.Absolute(o.inventory), Limit: o.limit,
		Tags: o.tags, SkipTags: o.skipTags, Forks: o.forks, LockHosts: o.lock == lockHosts,
	}
}

// optionsOf is the way back. Variables of the command line come with Call.Extra.
func optionsOf(c journal.Call) runOptions {
	o := runOptions{inventory: project.Relative(c.Inventory), limit: c.Limit, tags: c.Tags, skipTags: c.SkipTags, forks: c.Forks, lock: lockCluster}
	if c.LockHosts {
		o.lock = lockHosts
	}
	return o
}

// runName is how summaries call a run.
func runName(c journal.Call) string {
	if c.Playbook != "" {
		return filepath.Base(c.Playbook)
	}
	return c.Verb
}

// whoami is user@machine.
func whoami() string {
	name := "uid " + strings.TrimSpace(os.Getenv("UID"))
	if u, err := user.Current(); err == nil {
		name = u.Username
	}
	machine, err := os.Hostname()
	if err != nil {
		return name
	}
	return name + "@" + machine
}

// claim is how the run locks its hosts; nil when it changes none, or when it must
// not wait for others.
func (x *execution) claim(id string, started time.Time) *schedule.Claim {
	if !x.locks || x.options.check {
		return nil
	}
	c := &schedule.Claim{Patience: x.options.lockTimeout,
		Holder: lock.Holder{Run: id, Verb: x.call.Verb, By: whoami(), PID: os.Getpid(), Since: started}}
	if x.project.Cluster != nil && x.options.lock != lockHosts {
		c.Guards = x.project.Cluster.Masters
	}
	return c
}
