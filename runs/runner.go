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
	"deployer/runs/target"
)

// Runner is the program that carries runs out.
type Runner struct {
	// Options are what projects are loaded with.
	project.Options
	// Version of the program; plans and logs name it, and are held to it.
	Version string
	// Ask asks for passwords and passphrases; nil when nobody can be asked.
	PromptSecret target.Prompter
	// AskOpen asks for variables whose values may be shown; nil likewise.
	PromptVisible target.Prompter
	// Confirm is asked before each task of a run with Options.Step, and must be
	// set for such runs.
	Confirm func(ctx context.Context, task string, hosts []string) schedule.Answer
	// Fetching is told of the artifacts that are fetched before a run; may be nil.
	OnFetch func(images.Progress)
}

// Options say what is run and how.
type Options struct {
	// Call is what is asked for, as plans and logs keep it. Its verb is that of
	// the constructor; paths may be relative to the working directory.
	journal.Invocation
	// Check only finds out what would change.
	Check bool
	// Step has the controller confirm each task.
	Step bool
	// LockTimeout is how long to wait for another run that holds the hosts; 0 is
	// not at all.
	LockTimeout time.Duration
	// NoPutBack leaves a host as it is when it fails in a rollout after it was
	// changed, for a look.
	NoPutBack bool
	// Asking says which passwords are asked for.
	Prompt target.PromptFlags

	// loose leaves variables that nobody gives a value, and template files, to the
	// run: the way back looks at few of them, and the inventory may have lost some
	// since; of a plan they were known when it was made.
	skipVarCheck bool
}

// The verbs of the runs that can be repeated from what was written down of them,
// and of those that cannot.
const (
	verbInstall = "install"
	verbRun     = "run"
	verbRevert  = "revert"
	verbExec    = "exec"
	verbUnknown = "unknown" // of which nothing is known
)

// Install makes ready a run that makes the hosts of an inventory a healthy
// cluster, or repairs what differs.
func (c Runner) Install(o Options) (*Run, error) {
	o.Verb = verbInstall
	r, err := c.builtin(o)
	if err != nil {
		return nil, err
	}
	r.logged, r.locks = true, true
	return r, nil
}

// Inspect makes ready one of deployer's playbooks that only look: status or
// verify, as the options' verb says.
func (c Runner) Inspect(o Options) (*Run, error) { return c.builtin(o) }

// builtin makes ready the playbook of deployer's that has the name of the verb.
func (c Runner) builtin(o Options) (*Run, error) {
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

// Playbook makes ready a run of the user's own playbook that the options name.
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
	o.Verb = verbRun
	r, err := c.newRun(p, b, o)
	if err != nil {
		return nil, err
	}
	r.logged, r.locks = true, true
	return r, nil
}

// Task makes ready one task, as a playbook would have it, on the hosts that
// the options' limit names, each for itself: exec or facts, as their verb says.
// Exec is logged. Commands and facts do not wait for other runs.
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
	r.logged, r.budget = o.Verb == verbExec, everyHostMayFail()
	r.unlocked = o.Verb != verbExec || task["command"] != nil || task["shell"] != nil
	return r, nil
}
