package runs

import (
	"fmt"
	"maps"
	"os"
	"slices"
	"time"

	"deployer/cluster/compare"
	"deployer/engine"
	"deployer/engine/journal"
	"deployer/engine/lock"
	"deployer/engine/plan"
	"deployer/engine/program"
	"deployer/engine/schedule"
	"deployer/engine/session"
	"deployer/limit"
	"deployer/project"
	"deployer/runs/blobs"
	"deployer/runs/target"
)

// Run is one run of a playbook. A [Runner] creates it; it can be executed once.
type Run struct {
	Options
	Project *project.Project
	Program *program.Program
	// Hosts of the run, in inventory order.
	Hosts []string

	runner    Runner
	registry  engine.Registry
	variables *project.Variables
	fetches   bool // Prepare downloads artifacts
	logged    bool // has a log on the controller, unless it is a check
	locks     bool // holds run locks on its hosts, unless it is a check
	unlocked  bool // its steps may run at the same time as those of other runs
	// budget is the failure budget by group; nil for that of the inventory.
	budget  map[string]limit.Limit
	missing map[string]string // hosts of the run that are known to be down, with the reason
	resumes string            // id of the run that this one resumes; empty for none
	applies *plan.Plan        // plan to apply; nil for none
	applied *journal.Plan     // the file of applies
	// storesPlan is true when applies has no file on this machine until the run begins;
	// claimedPlan when only hosts say that applies is its plan.
	storesPlan, claimedPlan bool

	// passedPauses are the rollouts that have paused in the runs that this one resumes.
	passedPauses []string
	// failedBefore are the hosts that failed in the run that this one resumes.
	failedBefore []string
	// observed is filled by a survey; nil for other runs.
	observed *compare.Observed

	// Set by Prepare.
	credentials *target.Credentials
	connector   *target.Connector
	blobs       *blobs.Store
	redactor    *schedule.Redactor
	// Set by Do.
	id     string
	hasLog bool
}

// newRun compiles a playbook for a project.
func (c Runner) newRun(p *project.Project, b project.PlaybookSource, o Options) (*Run, error) {
	r := &Run{Options: o, Project: p, Hosts: p.Hosts, runner: c}
	var err error
	if r.variables, err = p.Variables(); err != nil {
		return nil, err
	}
	r.variables.ResolveHostVars(o.Extra)
	if o.Limit != "" {
		if r.Hosts, err = p.Match(o.Limit); err != nil {
			return nil, project.AsUserError(err)
		}
		if len(r.Hosts) == 0 {
			return nil, project.AsUserError(fmt.Errorf("pattern %q matches no host", o.Limit))
		}
	}
	selection := project.Selection{Tags: o.Tags, SkipTags: o.SkipTags, StartAt: o.StartAt, Step: o.Step,
		Hosts: r.Hosts, Vars: r.variables.ForHost, Extra: o.Extra, Promised: o.Withheld}
	if o.skipVarCheck {
		selection.Hosts = nil
	}
	r.Program, r.registry, err = p.Compile(b, selection)
	return r, err
}

// ID returns the id of the run, empty before Do. Hosts store backups under it.
func (r *Run) ID() string { return r.id }

// TargetHosts returns the hosts of the run that a play names; the others are not
// contacted.
func (r *Run) TargetHosts() []string {
	named := map[string]bool{}
	for _, p := range r.Program.Plays {
		hosts, _ := r.Project.Match(p.Hosts) // Compile has checked the pattern
		for _, host := range hosts {
			named[host] = true
		}
	}
	return slices.DeleteFunc(slices.Clone(r.Hosts), func(host string) bool { return !named[host] })
}

// HasLog reports whether the run has a log, so that it can be resumed.
func (r *Run) HasLog() bool { return r.hasLog }

// ClaimedPlan returns the plan that the run applies when it comes from the record of a host
// and this machine has no log with its digest: a person must see and confirm it, as for
// apply. ClaimedPlan returns nil for any other run.
func (r *Run) ClaimedPlan() *plan.Plan {
	if !r.claimedPlan {
		return nil
	}
	return r.applies
}

// PlanFile returns the file of the plan that the run applies; empty for none.
func (r *Run) PlanFile() string {
	if r.applied == nil || r.applied.File == "" {
		return ""
	}
	return project.Relative(r.applied.File)
}

// RecordedInvocation returns the invocation as plans and logs record it: paths are
// absolute, and variables whose names look like secrets have no values. Prepare must
// have been called.
func (r *Run) RecordedInvocation() journal.Invocation {
	c := r.Invocation
	c.Playbook, c.Inventory = project.Absolute(c.Playbook), project.Absolute(c.Inventory)
	c.Extra, c.Withheld = r.withholdPrivate(journal.SplitSecrets(r.Extra, r.redactor.Text))
	c.Prompted = slices.DeleteFunc(slices.Clone(r.Prompted), func(name string) bool { return !slices.Contains(c.Withheld, name) })
	return c
}

// Parallelism returns the maximum number of hosts processed in parallel; 0 for the
// default of the engine.
func (r *Run) Parallelism() int {
	if r.Forks > 0 {
		return r.Forks
	}
	return r.Project.Inventory.Forks
}

// failureBudget returns the number of hosts that may fail before the run stops, by
// group: max_fail of the inventory; without it a tenth of the minions, rounded down, so
// that one failed minion of many does not stop a run, and one of a few does.
func (r *Run) failureBudget() map[string]limit.Limit {
	if r.budget != nil {
		return r.budget
	}
	out := map[string]limit.Limit{}
	if r.Project.Cluster != nil {
		out["minion"] = limit.Limit{Percent: 10, Share: true}
	}
	maps.Copy(out, r.Project.Inventory.MaxFail)
	return out
}

// everyHostMayFail returns the budget of runs in which a failed host stops no other.
func everyHostMayFail() map[string]limit.Limit {
	all := limit.Limit{Percent: 100, Share: true}
	return map[string]limit.Limit{"master": all, "etcd": all}
}

// lockOptions returns the options of the run lock; nil for a run that takes no lock.
func (r *Run) lockOptions(started time.Time) *session.LockOptions {
	if !r.locks || r.Check {
		return nil
	}
	c := &session.LockOptions{MaxWait: r.LockTimeout,
		Holder: lock.Holder{Run: r.id, Verb: r.Verb, By: whoami(), PID: os.Getpid(), Since: started}}
	if r.Project.Cluster != nil && !r.LockHosts {
		c.Guards, c.GuardsNoun = r.Project.Cluster.Masters, "masters"
	}
	return c
}
