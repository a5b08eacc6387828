package main

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"deployer/engine"
	"deployer/engine/journal"
	"deployer/engine/playbook"
	"deployer/engine/view"
	"deployer/project"
	"deployer/roles"
	"deployer/runs/reach"
)

// runOptions are the flags of verbs that run a playbook.
type runOptions struct {
	inventory string
	output    string
	verbose   int
	forks     int
	check     bool
	ask       reach.Asking
	// Of playbooks of the user's own; see playFlags.
	diff           bool
	lock           string
	lockTimeout    time.Duration
	limit          string
	tags, skipTags []string
	startAt        string
	step           bool
	extraVars      []string
	// earlier are the variables of the command line of the run that is done again;
	// those of extraVars win.
	earlier map[string]any
}

func runFlags(cmd *cobra.Command, o *runOptions) {
	inventoryFlag(cmd, &o.inventory)
	askFlags(cmd, &o.ask)
	outputFlag(cmd, &o.output, "text", "json")
	cmd.Flags().CountVarP(&o.verbose, "verbose", "v", "show unchanged steps and diffs; twice: skipped steps and waits too")
	cmd.Flags().IntVar(&o.forks, "forks", 0, "most hosts that are worked on at once (default: the inventory's, or 50)")
}

// execution is one run of a playbook.
type execution struct {
	env       env
	project   *project.Project
	logins    *reach.Logins // once they were asked for
	options   runOptions
	registry  engine.Registry
	program   *playbook.Program
	variables *roles.Variables
	hosts     []string // of the run: those of the project, limited
	call      journal.Call
	again     string // the command that goes on
	// results gets every event beside the renderer; may be nil.
	results engine.Sink
	// show is the renderer; nil means the one that the options ask for.
	show view.Renderer
	// budget is how many hosts may fail; nil means what the inventory says.
	budget map[string]playbook.Limit
	// journal keeps the events on the controller, unless it is only a check.
	journal bool
	// locks keeps other runs away from the hosts, unless it is only a check.
	locks bool
	// beside lets the steps run at one time with those of other runs.
	beside bool
	// resumes is the run that this one goes on from, or empty; plan the plan that
	// it applies, or nil.
	resumes string
	plan    *journal.Plan
	// clean takes secrets out of a text; set once the run has begun.
	clean func(string) string
	// artifacts are fetched before the run.
	artifacts bool
	// extra are variables that win over those of the inventory.
	extra map[string]any
}

// ownExecution makes ready a run of one of deployer's playbooks; its errors are
// found without the network.
func ownExecution(e env, verb, name string, o runOptions) (*execution, error) {
	p, err := loadCluster(o.inventory)
	if err != nil {
		return nil, err
	}
	x, err := newExecution(e, p, project.OwnBook(name, verb), o)
	if err != nil {
		return nil, err
	}
	x.artifacts, x.call = true, callOf(verb, "", o)
	x.again = strings.Join(append([]string{"deployer", verb}, o.words()...), " ")
	return x, nil
}

// newExecution compiles a playbook for a project.
func newExecution(e env, p *project.Project, b project.Book, o runOptions) (*execution, error) {
	x := &execution{env: e, project: p, options: o, hosts: p.Hosts}
	var err error
	if x.variables, err = p.Variables(); err != nil {
		return nil, err
	}
	if x.extra, err = extraVars(o.extraVars); err != nil {
		return nil, err
	}
	for name, value := range o.earlier {
		if _, given := x.extra[name]; !given {
			x.extra[name] = value
		}
	}
	if o.limit != "" {
		if x.hosts, err = p.Match(o.limit); err != nil {
			return nil, usageError(fmt.Errorf("--limit: %w", err))
		}
		if len(x.hosts) == 0 {
			return nil, usageError(fmt.Errorf("--limit %s leaves no host", o.limit))
		}
	}
	x.program, x.registry, err = p.Compile(b, project.Selection{Tags: o.tags, SkipTags: o.skipTags, StartAt: o.startAt, Step: o.step,
		Vars: x.variables.Of, Extra: x.extra})
	return x, err
}

// secrets are the texts that reach no output: what the inventory and vars_files
// mark as secret, passwords, and variables of the command line that
// look like one.
func (x *execution) secrets() ([]string, error) {
	secrets := slices.Concat(x.project.Inventory.Secrets(), x.program.Secrets)
	passwords, err := x.logins.Secrets()
	if err != nil {
		return nil, err
	}
	secrets = append(secrets, passwords...)
	for name, value := range x.extra {
		if text, ok := value.(string); ok && journal.LooksSecret(name) {
			secrets = append(secrets, text)
		}
	}
	return secrets, nil
}

// finish prints the summary and chooses the exit code.
func (x *execution) finish(report *engine.Report) error {
	if x.options.output == "text" {
		view.Summary(x.env.stdout, x.program.Name, report, x.again)
	}
	return outcome(report)
}

func (x *execution) forks() int {
	if x.options.forks > 0 {
		return x.options.forks
	}
	return x.project.Inventory.Forks
}

func (x *execution) renderer() view.Renderer {
	o := x.options.viewOptions(x.hosts)
	if x.options.output == "json" {
		return view.JSON(x.env.stdout)
	}
	if f, ok := x.env.stdout.(*os.File); ok && term.IsTerminal(int(f.Fd())) && !x.options.step {
		return view.Live(x.env.stdout, o)
	}
	return view.Lines(x.env.stdout, o)
}

// limits are how many hosts may fail before a run stops: the inventory's
// max_fail; without it a tenth of the minions, rounded down, so that a dead one
// among many is left out and a run on few hosts is all or nothing. The engine
// adds that masters and etcd hosts may not fail.
func (x *execution) limits() map[string]playbook.Limit {
	if x.budget != nil {
		return x.budget
	}
	out := map[string]playbook.Limit{}
	if x.project.Cluster != nil {
		out["minion"] = playbook.Limit{Percent: 10, Share: true}
	}
	for group, limit := range x.project.Inventory.MaxFail {
		if l, err := playbook.ParseLimit(limit.String()); err == nil {
			out[group] = l
		}
	}
	return out
}

// login asks for passwords, once.
func (x *execution) login() (err error) {
	if x.logins == nil {
		x.logins, err = reach.NewLogins(x.project, x.options.ask, prompt{x.env.stdin, x.env.stderr}.secret)
	}
	return err
}
