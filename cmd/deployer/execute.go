package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"deployer/engine"
	"deployer/engine/journal"
	"deployer/engine/playbook"
	"deployer/engine/schedule"
	"deployer/engine/view"
	"deployer/inventory"
	"deployer/roles"
	"deployer/tasks"
	"deployer/tasks/control"
	"deployer/tasks/control/keyring"
	"deployer/tasks/control/kube"
	"deployer/templates"
)

// runOptions are the flags of verbs that run a playbook.
type runOptions struct {
	inventory string
	output    string
	verbose   int
	forks     int
	check     bool
}

func runFlags(cmd *cobra.Command, o *runOptions) {
	inventoryFlag(cmd, &o.inventory)
	outputFlag(cmd, &o.output, "text", "json")
	cmd.Flags().CountVarP(&o.verbose, "verbose", "v", "show unchanged steps and diffs; twice: skipped steps and waits too")
	cmd.Flags().IntVar(&o.forks, "forks", 0, "most hosts that are worked on at once (default: the inventory's, or 50)")
}

// execution is one run of one of deployer's playbooks.
type execution struct {
	env      env
	project  *project
	options  runOptions
	verb     string
	registry engine.Registry
	program  *playbook.Program
	again    string // the command that goes on
	// results gets every event beside the renderer; may be nil.
	results engine.Sink
	// journal keeps the events on the controller.
	journal bool
	// extra are variables that win over those of the inventory.
	extra map[string]any
}

// newExecution loads and compiles; its errors are found without the network.
func newExecution(e env, verb, book string, o runOptions) (*execution, error) {
	p, err := load(o.inventory)
	if err != nil {
		return nil, err
	}
	if err := p.addProbe(); err != nil {
		return nil, err
	}
	registry := engine.NewRegistry(tasks.Modules(), control.Actions())
	library := playbook.Library{
		Registry:  registry,
		Renamed:   tasks.Renamed(),
		Roles:     []playbook.Tree{{Name: "roles", FS: roles.FS}},
		Templates: playbook.Tree{Name: "templates", FS: templates.FS},
		Match:     p.match,
	}
	program, err := library.Compile(playbook.Tree{Name: "roles", FS: roles.FS}, "playbooks/"+book+".yaml")
	if err != nil {
		return nil, fmt.Errorf("deployer's own playbook %s does not compile: %w", book, err)
	}
	program.Name = verb
	return &execution{env: e, project: p, options: o, verb: verb, registry: registry, program: program,
		again: fmt.Sprintf("deployer %s -i %s", verb, o.inventory)}, nil
}

// run carries the playbook out and shows it. The report is nil when the run
// could not begin.
func (x *execution) run(ctx context.Context) (*engine.Report, error) {
	if err := x.project.fetch(ctx, x.env.stderr); err != nil {
		return nil, err
	}
	content, err := newBlobs(x.project)
	if err != nil {
		return nil, err
	}
	secrets, err := secretsOf(x.project.inv)
	if err != nil {
		return nil, err
	}
	started := time.Now().UTC()
	id := started.Format("20060102-150405.000")
	sinks, log, err := x.sinks(id, started)
	if err != nil {
		return nil, err
	}
	ctx, interrupt, stop := signals(ctx)
	defer stop()
	renderer := x.renderer()
	sink := view.Tee(append(sinks, renderer)...)
	redactor := schedule.NewRedactor(secrets)
	ring := &keyring.Keyring{}
	connector := newConnector(x.project, content, control.Calls(ring, x.project.cluster), redactor.Wrap(sink))
	defer connector.Close()
	services := engine.Services{}
	engine.Provide(services, ring)
	engine.Provide(services, kube.NewAccess(ring))
	engine.Provide(services, x.project.cluster)
	report, err := schedule.Run(ctx, x.program, schedule.Options{
		RunID:     id,
		Check:     x.options.check,
		Hosts:     x.project.hosts,
		Match:     x.project.match,
		Vars:      func(host string) (map[string]any, error) { return x.project.variables.Of(host), nil },
		Extra:     x.extra,
		Registry:  x.registry,
		Connector: connector,
		Services:  services,
		Artifacts: content,
		Blobs:     content,
		Forks:     x.forks(),
		Budget:    budget(x.project),
		Sink:      sink,
		Redactor:  redactor,
		Interrupt: interrupt,
	})
	renderer.Close()
	if log != nil {
		err = errors.Join(err, log.Close())
	}
	return report, err
}

// sinks are what gets the events beside the renderer: who gathers results, and
// the journal of a run that changes hosts.
func (x *execution) sinks(id string, started time.Time) ([]engine.Sink, *journal.Log, error) {
	var sinks []engine.Sink
	if x.results != nil {
		sinks = append(sinks, x.results)
	}
	if !x.journal {
		return sinks, nil, nil
	}
	dir, err := journal.Dir()
	if err != nil {
		return nil, nil, err
	}
	log, err := journal.Create(dir, journal.Header{
		Run: id, Name: x.verb, Started: started, Argv: os.Args, Inventory: x.options.inventory,
		Versions: roles.Versions(x.project.cluster), Check: x.options.check, PID: os.Getpid(),
	})
	if err != nil {
		return nil, nil, err
	}
	return append(sinks, log), log, nil
}

// secretsOf are the texts that reach no output: what the inventory marks as
// secret, and the passwords to become root with.
func secretsOf(inv *inventory.Inventory) ([]string, error) {
	secrets := inv.Secrets()
	for _, h := range inv.Hosts {
		password, err := becomePassword(h)
		if err != nil {
			return nil, usageError(err)
		}
		if password != "" && !slices.Contains(secrets, password) {
			secrets = append(secrets, password)
		}
	}
	return secrets, nil
}

// finish prints the summary and chooses the exit code.
func (x *execution) finish(report *engine.Report) error {
	if x.options.output == "text" {
		view.Summary(x.env.stdout, x.verb, report, x.again)
	}
	return outcome(report)
}

func (x *execution) forks() int {
	if x.options.forks > 0 {
		return x.options.forks
	}
	return x.project.inv.Forks
}

func (x *execution) renderer() view.Renderer {
	o := view.Options{Verbose: x.options.verbose, Check: x.options.check, Hosts: x.project.hosts}
	if x.options.output == "json" {
		return view.JSON(x.env.stdout)
	}
	if f, ok := x.env.stdout.(*os.File); ok && term.IsTerminal(int(f.Fd())) {
		return view.Live(x.env.stdout, o)
	}
	return view.Lines(x.env.stdout, o)
}

// budget is how many hosts may fail before a run stops: the inventory's
// max_fail; without it a tenth of the minions, rounded down, so that a dead one
// among many is left out and a run on few hosts is all or nothing. The engine
// adds that masters and etcd hosts may not fail.
func budget(p *project) map[string]playbook.Limit {
	out := map[string]playbook.Limit{"minion": {Percent: 10, Share: true}}
	for group, limit := range p.inv.MaxFail {
		if l, err := playbook.ParseLimit(limit.String()); err == nil {
			out[group] = l
		}
	}
	return out
}

// match resolves a pattern of hosts by the roles of the resolved cluster.
func (p *project) match(pattern string) ([]string, error) {
	return inventory.Match(pattern, p.hosts, p.groups)
}
