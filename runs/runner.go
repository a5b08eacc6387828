package runs

import (
	"context"
	"path/filepath"
	"time"

	"gopkg.in/yaml.v3"

	"deployer/engine/journal"
	"deployer/engine/schedule"
	"deployer/images"
	"deployer/project"
	"deployer/runs/history"
	"deployer/runs/target"
)

// Runner creates runs for a program: the command line, a service or a test.
type Runner struct {
	// Options are used to load projects.
	project.Options
	// Version of the program. Plans and logs record it, and a plan or run of another
	// version is refused.
	Version string
	// PromptSecret prompts for passwords and passphrases; nil for a program without a
	// terminal.
	PromptSecret target.Prompter
	// PromptVisible prompts for variables that are not private; nil for a program
	// without a terminal.
	PromptVisible target.Prompter
	// Confirm is called before each task of a run with Options.Step, and must be set
	// for such runs.
	Confirm func(ctx context.Context, task string, hosts []string) schedule.Answer
	// History has the logs of earlier runs; nil for those of this machine. See
	// FetchHistory.
	History *history.History
	// NextRunID returns the id of the next run that has a log; an empty one, and nil, stand for the
	// time at which the run starts.
	NextRunID func() string
	// OnFetch is called with the progress of downloads before a run; may be nil.
	OnFetch func(images.Progress)
}

// Options are the options of a run.
type Options struct {
	// Invocation is recorded in plans and logs. The constructors set its verb; paths
	// may be relative to the working directory.
	journal.Invocation
	// Check makes a dry run.
	Check bool
	// Step calls Runner.Confirm before each task.
	Step bool
	// LockTimeout is the time to wait for the run locks of other runs; with 0 a held
	// lock is an error at once.
	LockTimeout time.Duration
	// NoRestore keeps the changed state of a host that fails in a rollout.
	NoRestore bool
	// Prompt selects the passwords that are prompted for.
	Prompt target.PromptFlags

	// skipVarCheck makes undefined variables and missing template files errors of the
	// run instead of errors of Compile. A revert evaluates few of them, and the
	// inventory may have lost some since; for a plan they were checked when it was made.
	skipVarCheck bool
}

// Install returns a run that installs the cluster of an inventory, or repairs its
// differences from the inventory.
func (c Runner) Install(o Options) (*Run, error) {
	o.Verb = journal.VerbInstall
	return c.changing(o)
}

// changing returns a run of a built-in playbook that changes hosts, with a log and
// locks.
func (c Runner) changing(o Options) (*Run, error) {
	r, err := c.builtin(o)
	if err != nil {
		return nil, err
	}
	r.logged, r.locks = true, true
	if o.Verb == journal.VerbScaleUp {
		r.budget = r.spareMinionBudget()
	}
	return r, nil
}

// Repair returns a run of install for a cluster in use, which may lose at least one
// minion. An install by its own verb tolerates no lost minion when a tenth of the
// minions is less than one.
func (c Runner) Repair(o Options) (*Run, error) {
	r, err := c.Install(o)
	if err != nil {
		return nil, err
	}
	r.budget = r.spareMinionBudget()
	return r, nil
}

// Start returns a run that starts the services of an installed cluster that is down, as far
// as its hosts answer; see Repair.
func (c Runner) Start(o Options) (*Run, error) {
	o.Verb = journal.VerbStart
	r, err := c.changing(o)
	if err != nil {
		return nil, err
	}
	r.budget = r.spareMinionBudget()
	return r, nil
}

// Upgrade returns a run that moves a cluster in use to the versions of its inventory, or
// to the Kubernetes version of the options.
func (c Runner) Upgrade(o Options) (*Run, error) {
	o.Verb = journal.VerbUpgrade
	c.Options.Kubernetes = o.Kubernetes
	r, err := c.changing(o)
	if err != nil {
		return nil, err
	}
	r.budget = r.upgradeBudget()
	return r, nil
}

// Inspect returns a run of a built-in playbook that changes nothing: status or verify,
// by the verb of the options.
func (c Runner) Inspect(o Options) (*Run, error) { return c.builtin(o) }

// builtin returns a run of the built-in playbook that has the name of the verb.
func (c Runner) builtin(o Options) (*Run, error) {
	c.Groups = project.RunGroups{Joining: o.Joining, Leaving: o.Leaving, KeepNodes: o.KeepNodes, Dead: o.Dead}
	p, err := project.LoadCluster(o.Inventory, c.Options)
	if err != nil {
		return nil, err
	}
	r, err := c.newRun(p, project.Builtin(o.Verb), o)
	if err != nil {
		return nil, err
	}
	r.fetches = true
	return r, nil
}

// Playbook returns a run of the user playbook that the options name.
func (c Runner) Playbook(o Options) (*Run, error) {
	c.Options.Playbook = filepath.Dir(o.Playbook)
	p, err := project.Load(o.Inventory, c.Options)
	if err != nil {
		return nil, err
	}
	b, err := p.OpenPlaybook(o.Playbook)
	if err != nil {
		return nil, err
	}
	o.Verb = journal.VerbRun
	r, err := c.newRun(p, b, o)
	if err != nil {
		return nil, err
	}
	r.logged, r.locks = true, true
	return r, nil
}

// Task returns a run of one task, in the form of a playbook, on the hosts of the limit:
// exec or facts, by the verb of the options. A failed host stops no other. Exec is
// logged. Commands and facts take no run lock.
func (c Runner) Task(task map[string]any, o Options) (*Run, error) {
	text, err := yaml.Marshal([]any{map[string]any{"name": o.Verb, "hosts": "all", "tasks": []any{task}}})
	if err != nil {
		return nil, err
	}
	p, err := project.Load(o.Inventory, c.Options)
	if err != nil {
		return nil, err
	}
	r, err := c.newRun(p, project.Inline(text, o.Verb), o)
	if err != nil {
		return nil, err
	}
	r.logged, r.budget = o.Verb == journal.VerbExec, everyHostMayFail()
	r.unlocked = o.Verb != journal.VerbExec || task["command"] != nil || task["shell"] != nil
	return r, nil
}
