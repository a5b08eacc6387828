package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"deployer/engine/journal"
	"deployer/engine/revert"
	"deployer/project"
)

// revertOptions are the flags of revert.
type revertOptions struct {
	runOptions
	// of says what the run was, when there is no log of it.
	of                 string
	force, yes, anyway bool
}

func newRevertCommand(e env) *cobra.Command {
	var o revertOptions
	cmd := &cobra.Command{
		Use:     "revert RUN",
		GroupID: "runs",
		Short:   "Put back what a run has changed",
		Long: `Revert puts files with their access, links, directories, units, packages, users
and kernel settings back to what they were before a run, the last step first, in
the batches of the run, one by one where it went one by one, and holds hosts at
the gates that held them then. What was running follows its files. Gates see the
variables of now: where one waits for what the run brought, set them back first,
in the inventory or with -e.

It first asks the hosts and shows what will be put back, and what cannot be:
commands that ran, objects of Kubernetes, packages in versions that nobody
offers any more. When somebody has changed something since the run it is refused,
unless --force is given.

A revert is a run itself: it keeps what it replaces, goes on with the same
command when it was interrupted, and can be reverted. The beginning of a run's
id is enough; deployer runs list shows them.

Hosts keep what they need for the last runs that changed something there. On
another machine than that of the run, say with --of what it was: install, or
the playbook, or unknown, which puts hosts back one by one and without gates.`,
		Example: `  deployer revert 20261121-1430 --check -v
  deployer revert 20261121-143012.482 --limit m1 --yes`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			r, err := toRevert(args[0], o, cmd.Flags().Changed("inventory"))
			if err != nil {
				return usageError(err)
			}
			return r.run(cmd.Context(), e)
		},
	}
	runFlags(cmd, &o.runOptions)
	lockFlags(cmd, &o.runOptions)
	f := cmd.Flags()
	f.BoolVarP(&o.check, "check", "C", false, "change nothing, show what would be put back")
	f.BoolVarP(&o.diff, "diff", "D", false, "show how files differ")
	f.StringVarP(&o.limit, "limit", "l", "", "only these hosts, as a `pattern`")
	f.BoolVar(&o.force, "force", false, "put back also what somebody has changed since")
	f.BoolVarP(&o.yes, "yes", "y", false, "do not ask")
	f.BoolVar(&o.anyway, "anyway", false, "go on although the playbook has changed since")
	f.StringVar(&o.of, "of", "", "`what` the run was, when this machine has no log of it: install, a playbook, or unknown")
	f.StringArrayVarP(&o.extraVars, "extra-vars", "e", nil, "`variables` that were not written down, as for run; may be given again")
	return cmd
}

// reverting is a run that is to be put back.
type reverting struct {
	id      string        // its id
	from    string        // the run that it went on from, or empty
	call    journal.Call  // what it was
	track   *track        // what its log says; empty without one
	options revertOptions // of the revert
	resumes string        // an earlier revert that this one goes on from
}

// toRevert finds the run.
func toRevert(name string, o revertOptions, inventoryGiven bool) (*reverting, error) {
	dir, err := journal.Dir()
	if err != nil {
		return nil, err
	}
	record, err := journal.Find(dir, name)
	if err != nil && o.of == "" {
		return nil, fmt.Errorf("%w; if it was run from another machine, say what it was with --of", err)
	}
	if err != nil {
		call := journal.Call{Verb: "run", Playbook: project.Absolute(o.of), Inventory: project.Absolute(o.inventory)}
		if o.of == "install" || o.of == unknown {
			call.Verb, call.Playbook = o.of, ""
		}
		return &reverting{id: name, call: call, track: &track{}, options: o}, nil
	}
	if record.Outcome == journal.Running {
		return nil, fmt.Errorf("run %s goes on, as process %d; interrupt it first", record.Header.Run, record.Header.PID)
	}
	if !inventoryGiven {
		o.inventory = project.Relative(record.Header.Call.Inventory)
	}
	t, err := trackOf(journal.Path(dir, record.Header.Run))
	return &reverting{id: record.Header.Run, from: record.Header.Resumes, call: record.Header.Call, track: t, options: o}, err
}

// unknown is the verb of a run of which nothing is known.
const unknown = "unknown"

// run asks the hosts, shows what there is to do, and does it.
func (r *reverting) run(ctx context.Context, e env) error {
	x, err := r.forward(e, r.call)
	if err != nil {
		return err
	}
	if moved := r.track.moved(x.program); len(moved) > 0 && r.call.Verb != "exec" && !r.options.anyway {
		return &exitError{exitRefused, fmt.Errorf("the playbook is not what it was in run %s: %s; revert with the playbook as it was, or with --anyway in the order that it has now",
			r.id, strings.Join(moved, "; "))}
	}
	found, err := r.lookBack(ctx, x)
	if err != nil {
		return err
	}
	back, err := revert.Mirror(x.program, revert.Options{Run: r.id, Force: r.options.force, Past: found.past, Log: r.track.log()})
	if err != nil {
		return err
	}
	found.leftOut = back.LeftOut
	if r.options.output == "json" && r.options.check {
		return errors.Join(printJSON(e.stdout, found.asJSON()), found.verdict())
	}
	if r.options.output == "text" {
		found.print(e.stdout, r)
	}
	if err := found.verdict(); err != nil || r.options.check || !found.due() {
		return err
	}
	if err := r.confirm(e); err != nil {
		return err
	}
	return r.putBack(ctx, x, back, found)
}

// forward is an execution of what the run was, for all its tasks and hosts.
func (r *reverting) forward(e env, call journal.Call) (*execution, error) {
	o := r.options.runOptions
	o.tags, o.skipTags = nil, nil
	switch call.Verb {
	case "install", "run":
		x, err := again(e, call, o)
		if err == nil {
			err = givenAgain(call, x.extra)
		}
		return x, err
	case "exec", unknown:
		return r.without(e, call, o)
	case "revert":
		return r.forwardOfRevert(e, call, o)
	}
	return nil, usageError(fmt.Errorf("run %s was deployer %s, which changes nothing that could be put back", r.id, call.Verb))
}

// givenAgain wants the variables that were not written down.
func givenAgain(call journal.Call, extra map[string]any) error {
	for _, name := range call.Withheld {
		if _, ok := extra[name]; !ok {
			return usageError(fmt.Errorf("give the variable again with -e %s=VALUE, as %s looks like a secret and was not written down", shellWord(name), name))
		}
	}
	return nil
}

// forwardOfRevert is the way back that an earlier run took.
func (r *reverting) forwardOfRevert(e env, call journal.Call, _ runOptions) (*execution, error) {
	dir, err := journal.Dir()
	if err != nil {
		return nil, err
	}
	first, err := journal.Find(dir, call.Reverts)
	if err != nil {
		return nil, usageError(fmt.Errorf("run %s reverted another one: %w", r.id, err))
	}
	x, err := r.forward(e, first.Header.Call)
	if err != nil {
		return nil, err
	}
	back, err := revert.Mirror(x.program, revert.Options{Run: call.Reverts})
	if err != nil {
		return nil, err
	}
	x.program = back.Program
	return x, nil
}

// confirm asks on a terminal, and wants --yes elsewhere.
func (r *reverting) confirm(e env) error {
	if r.options.yes {
		return nil
	}
	in, ok := e.stdin.(*os.File)
	if !ok || !term.IsTerminal(int(in.Fd())) {
		return &exitError{exitRefused, errors.New("nothing was changed; to do this, give --yes")}
	}
	fmt.Fprint(e.stdout, "\nPut this back? [y/N] ")
	answer, err := bufio.NewReader(in).ReadString('\n')
	if err != nil || !slices.Contains([]string{"y", "yes"}, strings.ToLower(strings.TrimSpace(answer))) {
		return &exitError{exitRefused, errors.New("nothing was changed")}
	}
	return nil
}

// putBack carries the way back out.
func (r *reverting) putBack(ctx context.Context, x *execution, back *revert.Mirrored, found *lookedBack) error {
	done := &leftovers{}
	x.program, x.results, x.show, x.budget = back.Program, done, nil, nil
	x.journal, x.locks, x.artifacts, x.resumes = true, true, false, r.resumes
	x.call = callOf("revert", "", r.options.runOptions)
	x.call.Reverts, x.call.Force, x.call.Anyway = r.id, r.options.force, r.options.anyway
	if back.Everyone {
		x.hosts = x.project.Hosts
	} else {
		x.hosts = slices.DeleteFunc(slices.Clone(x.hosts), func(host string) bool { return len(found.past[host].Items) == 0 })
	}
	report, err := x.run(ctx)
	if err != nil {
		return err
	}
	if r.options.output == "text" {
		done.print(x.env.stdout, r.call, report)
	}
	if err := x.finish(report); err != nil {
		return err
	}
	if done.left() || found.left() {
		return silent(exitPartial)
	}
	return nil
}
