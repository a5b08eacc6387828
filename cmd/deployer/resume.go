package main

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"deployer/engine"
	"deployer/engine/journal"
	"deployer/project"
)

func newResumeCommand(e env) *cobra.Command {
	var o runOptions
	var anyway bool
	cmd := &cobra.Command{
		Use:     "resume [RUN]",
		GroupID: "runs",
		Short:   "Go on with a run that did not come to its end",
		Long: `Resume asks for the same again as a run did that was killed, interrupted or
stopped: the same playbook, hosts, tags and variables. Every step looks again at
what is there, so what is done is not done twice. Of a run that left hosts out,
only these are tried again (for install the whole cluster, as its parts depend
on each other).

Without RUN it is the last run of the inventory that is not finished. It is
refused when the inventory, the playbook or deployer itself has changed since,
unless --anyway is given.`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			dir, err := journal.Dir()
			if err != nil {
				return err
			}
			r, err := toResume(dir, args, project.Absolute(o.inventory))
			if err != nil {
				return usageError(err)
			}
			return resume(cmd.Context(), e, r, o, anyway)
		},
	}
	runFlags(cmd, &o)
	lockFlags(cmd, &o)
	cmd.Flags().BoolVarP(&o.check, "check", "C", false, "change nothing, show what is left to be done")
	cmd.Flags().BoolVar(&anyway, "anyway", false, "go on although files have changed since")
	cmd.Flags().StringArrayVarP(&o.extraVars, "extra-vars", "e", nil, "`variables` that were not written down, as for run; may be given again")
	return cmd
}

// toResume finds the run, and refuses one with nothing left to do.
func toResume(dir string, args []string, inventory string) (*journal.Record, error) {
	if len(args) == 1 {
		r, err := journal.Find(dir, args[0])
		if err != nil {
			return nil, err
		}
		return r, leftToDo(r)
	}
	all, err := journal.List(dir)
	if err != nil && len(all) == 0 {
		return nil, err
	}
	r := lastUnfinished(all, inventory)
	if r == nil {
		return nil, fmt.Errorf("nothing to resume: every run of %s came to its end; see deployer runs list", project.Relative(inventory))
	}
	return r, leftToDo(r)
}

// lastUnfinished picks the newest run of an inventory that is not finished and
// that no later run of the same playbook has finished.
func lastUnfinished(newestFirst []*journal.Record, inventory string) *journal.Record {
	var done []journal.Call
	for _, r := range newestFirst {
		call := r.Header.Call
		if call.Inventory != inventory || !resumable(call) || slices.ContainsFunc(done, call.Same) {
			continue
		}
		if !r.Finished() {
			return r
		}
		done = append(done, call)
	}
	return nil
}

// resumable tells whether a later run can finish what this one began: a command
// that exec ran somewhere is nothing that could be left unfinished.
func resumable(c journal.Call) bool {
	return c.Verb == "run" || c.Verb == "install" || c.Verb == "revert"
}

func leftToDo(r *journal.Record) error {
	run := r.Header.Run
	switch {
	case !resumable(r.Header.Call):
		return fmt.Errorf("run %s cannot be resumed: it was deployer %s; give the command again", run, r.Header.Call.Verb)
	case r.Outcome == journal.Running:
		return fmt.Errorf("run %s goes on, as process %d; follow it with: deployer runs tail %s", run, r.Header.PID, run)
	case r.Finished():
		return fmt.Errorf("nothing to resume: run %s came to its end", run)
	}
	return nil
}

// resume asks for the same again.
func resume(ctx context.Context, e env, r *journal.Record, given runOptions, anyway bool) error {
	h := r.Header
	if h.Plan != nil {
		return resumePlan(ctx, e, h, given)
	}
	o := optionsOf(h.Call)
	o.output, o.verbose, o.check, o.lockTimeout, o.extraVars, o.ask = given.output, given.verbose, given.check, given.lockTimeout, given.extraVars, given.ask
	if given.forks > 0 {
		o.forks = given.forks
	}
	if h.Call.Verb == "revert" {
		return resumeRevert(ctx, e, h, o)
	}
	if h.Call.Verb == "run" && r.Outcome == engine.RunPartial {
		o.limit = strings.Join(broken(r.Report), ",")
	}
	x, err := again(e, h.Call, o)
	if err != nil {
		return err
	}
	if err := withheldAgain(h, x.extra); err != nil {
		return usageError(err)
	}
	if changed := changedSince(h, x.project.Files()); len(changed) > 0 && !anyway {
		return &exitError{exitRefused, fmt.Errorf("not the same any more since run %s: %s; to go on with what is there now, use --anyway",
			h.Run, strings.Join(changed, ", "))}
	}
	x.resumes = h.Run
	report, err := x.run(ctx)
	if err != nil {
		return err
	}
	return x.finish(report)
}

// again makes ready a run like an earlier one.
func again(e env, c journal.Call, o runOptions) (x *execution, err error) {
	o.earlier = c.Extra
	switch c.Verb {
	case "install":
		x, err = ownExecution(e, "install", "install", o)
	case "run":
		x, err = userExecution(e, project.Relative(c.Playbook), o)
	default:
		return nil, fmt.Errorf("a run of deployer %s cannot be repeated from its log", c.Verb)
	}
	if err != nil {
		return nil, err
	}
	x.journal, x.locks = true, true
	return x, nil
}

func broken(r *engine.Report) []string {
	var out []string
	for _, h := range r.Broken() {
		out = append(out, h.Host)
	}
	return out
}

// resumePlan goes on with a plan that was applied in part.
func resumePlan(ctx context.Context, e env, h journal.Header, given runOptions) error {
	p, digest, err := readPlan(h.Plan.File)
	if err != nil {
		return usageError(err)
	}
	if digest != h.Plan.SHA256 {
		return usageError(fmt.Errorf("%s is not the plan that run %s applied; make a new plan", project.Relative(h.Plan.File), h.Run))
	}
	if given.check {
		return usageError(errors.New("what is left of a plan is looked at before it is done; --check is not needed"))
	}
	return apply(ctx, e, p, given, planned{file: h.Plan.File, digest: digest, resumes: h.Run})
}

// missingExtra are the variables that are not there.
func missingExtra(names []string, extra map[string]any) []string {
	var missing []string
	for _, name := range names {
		if _, ok := extra[name]; !ok {
			missing = append(missing, name)
		}
	}
	return missing
}

// withheldAgain wants the variables that were not written down.
func withheldAgain(h journal.Header, extra map[string]any) error {
	missing := missingExtra(h.Call.Withheld, extra)
	if len(missing) == 0 {
		return nil
	}
	return errors.New("give these variables again, they look like secrets and were not written down: " + resumeCommand(h.Run, missing))
}

// resumeCommand is what goes on with a run.
func resumeCommand(run string, withheld []string) string {
	text := "deployer resume " + run
	for _, name := range withheld {
		text += " -e " + shellWord(name) + "=..."
	}
	return text
}

// changedSince names what a run began with and what is not the same any more.
func changedSince(h journal.Header, now map[string]string) []string {
	var out []string
	for _, path := range slices.Sorted(maps.Keys(h.Files)) {
		switch digest, ok := now[path]; {
		case !ok:
			out = append(out, project.Relative(path)+" (not used any more)")
		case digest != h.Files[path]:
			out = append(out, project.Relative(path))
		}
	}
	for _, path := range slices.Sorted(maps.Keys(now)) {
		if _, ok := h.Files[path]; !ok {
			out = append(out, project.Relative(path)+" (new)")
		}
	}
	if h.Deployer != version {
		out = append(out, fmt.Sprintf("deployer itself (%s, now %s)", h.Deployer, version))
	}
	return out
}

// resumeRevert goes on with a revert: hosts know what is put back already.
func resumeRevert(ctx context.Context, e env, h journal.Header, o runOptions) error {
	r, err := toRevert(h.Call.Reverts, revertOptions{runOptions: o, force: h.Call.Force, anyway: h.Call.Anyway, yes: true}, true)
	if err != nil {
		return usageError(err)
	}
	r.resumes = h.Run
	return r.run(ctx, e)
}
