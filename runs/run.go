package runs

import (
	"fmt"
	"os"
	"slices"
	"time"

	"deployer/engine"
	"deployer/engine/journal"
	"deployer/engine/lock"
	"deployer/engine/plan"
	"deployer/engine/playbook"
	"deployer/engine/schedule"
	"deployer/project"
	"deployer/roles"
	"deployer/runs/blobs"
	"deployer/runs/target"
)

// Run is one run of a playbook. It is made by a [Runner], once for each time
// that it is carried out.
type Run struct {
	Options
	Project *project.Project
	Program *playbook.Program
	// Hosts are those of the run, in inventory order.
	Hosts []string

	controller Runner
	registry   engine.Registry
	variables  *roles.Variables
	fetches    bool // artifacts are fetched before it
	logged     bool // it has a log on the controller, unless it is only a check
	locks      bool // it keeps other runs away from the hosts, unless it is only a check
	unlocked   bool // its steps run at one time with those of other runs
	// budget is how many hosts may fail; nil means what the inventory says.
	budget  map[string]playbook.Limit
	resumes string        // the run that this one goes on from, or empty
	applies *plan.Plan    // nil for none
	applied *journal.Plan // where that was read

	// What Ready has made ready.
	credentials *target.Credentials
	connector   *target.Connector
	blobs       *blobs.Store
	redactor    *schedule.Redactor
	// What Do has begun.
	id     string
	hasLog bool
}

// newRun compiles a playbook for a project.
func (c Runner) newRun(p *project.Project, b project.PlaybookSource, o Options) (*Run, error) {
	r := &Run{Options: o, Project: p, Hosts: p.Hosts, controller: c}
	var err error
	if r.variables, err = p.Variables(); err != nil {
		return nil, err
	}
	project.ResolveHostVars(r.variables, o.Extra)
	if o.Limit != "" {
		if r.Hosts, err = p.Match(o.Limit); err != nil {
			return nil, project.AsUserError(err)
		}
		if len(r.Hosts) == 0 {
			return nil, project.AsUserError(fmt.Errorf("pattern %q leaves no host", o.Limit))
		}
	}
	selection := project.Selection{Tags: o.Tags, SkipTags: o.SkipTags, StartAt: o.StartAt, Step: o.Step,
		Hosts: r.Hosts, Vars: r.variables.Of, Extra: o.Extra, Promised: o.Withheld}
	if o.skipVarCheck {
		selection.Hosts = nil
	}
	r.Program, r.registry, err = p.Compile(b, selection)
	return r, err
}

// ID names the run once it has begun; hosts keep what it replaces under it.
func (r *Run) ID() string { return r.id }

// TargetHosts are the hosts of the run that a play names; the others are not contacted.
func (r *Run) TargetHosts() []string {
	named := map[string]bool{}
	for _, p := range r.Program.Plays {
		hosts, _ := r.Project.Match(p.Hosts) // it was compiled
		for _, host := range hosts {
			named[host] = true
		}
	}
	return slices.DeleteFunc(slices.Clone(r.Hosts), func(host string) bool { return !named[host] })
}

// HasLog tells whether the run has a log, so that it can be resumed.
func (r *Run) HasLog() bool { return r.hasLog }

// PlanFile is the file of the plan that the run applies; empty for none.
func (r *Run) PlanFile() string {
	if r.applied == nil {
		return ""
	}
	return project.Relative(r.applied.File)
}

// RecordedInvocation is what was asked for in the form that plans and logs keep: paths are
// absolute, and of variables that look like secrets there are only the names. The
// run must be ready.
func (r *Run) RecordedInvocation() journal.Invocation {
	c := r.Invocation
	c.Playbook, c.Inventory = project.Absolute(c.Playbook), project.Absolute(c.Inventory)
	c.Extra, c.Withheld = r.withholdPrivate(journal.SplitSecrets(r.Extra, r.redactor.Text))
	c.Prompted = slices.DeleteFunc(slices.Clone(r.Prompted), func(name string) bool { return !slices.Contains(c.Withheld, name) })
	return c
}

// Parallelism is how many hosts are worked on at most at one time; 0 is the default of
// the engine.
func (r *Run) Parallelism() int {
	if r.Forks > 0 {
		return r.Forks
	}
	return r.Project.Inventory.Forks
}

// failureBudget are how many hosts may fail before a run stops: the inventory's
// max_fail; without it a tenth of the minions, rounded down, so that a dead one
// among many is left out and a run on few hosts is all or nothing. The engine
// adds that masters and etcd hosts may not fail.
func (r *Run) failureBudget() map[string]playbook.Limit {
	if r.budget != nil {
		return r.budget
	}
	out := map[string]playbook.Limit{}
	if r.Project.Cluster != nil {
		out["minion"] = playbook.Limit{Percent: 10, Share: true}
	}
	for group, limit := range r.Project.Inventory.MaxFail {
		if l, err := playbook.ParseLimit(limit.String()); err == nil {
			out[group] = l
		}
	}
	return out
}

// everyHostMayFail is the budget of what concerns each host for itself.
func everyHostMayFail() map[string]playbook.Limit {
	all := playbook.Limit{Percent: 100, Share: true}
	return map[string]playbook.Limit{"master": all, "etcd": all}
}

// lockOptions is how the run locks its hosts; nil when it changes none, or when it must
// not wait for others.
func (r *Run) lockOptions(started time.Time) *schedule.Claim {
	if !r.locks || r.Check {
		return nil
	}
	c := &schedule.Claim{Patience: r.LockTimeout,
		Holder: lock.Holder{Run: r.id, Verb: r.Verb, By: whoami(), PID: os.Getpid(), Since: started}}
	if r.Project.Cluster != nil && !r.LockHosts {
		c.Guards = r.Project.Cluster.Masters
	}
	return c
}
