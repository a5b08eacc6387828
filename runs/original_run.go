package runs

import (
	"fmt"
	"slices"
	"strings"

	"deployer/engine/journal"
	"deployer/engine/program"
	"deployer/engine/revert"
	"deployer/project"
	"deployer/runs/history"
	"deployer/shellquote"
)

// originalRun returns the run that is to be reverted, with all its tasks and hosts.
func (c Runner) originalRun(r *Revert, call journal.Invocation) (*Run, error) {
	o := r.options.Options
	o.Invocation = journal.Invocation{Verb: call.Verb, Playbook: project.Relative(call.Playbook), Inventory: o.Inventory,
		Limit: o.Limit, Forks: o.Forks, LockHosts: o.LockHosts, Extra: o.Extra, Kubernetes: call.Kubernetes}
	o.skipVarCheck = true
	c.Lookups = r.lookups
	was := verbs[call.Verb]
	switch was.reverted {
	case byItsProgram:
		o.Extra = mergeVars(call.Extra, o.Extra)
		run, err := c.again(o)
		if err == nil {
			err = requireWithheld(call, run.Extra)
		}
		return run, err
	case withoutItsProgram:
		return c.withoutProgram(o)
	case byTheFirstRun:
		return c.originalRevert(r, call)
	case notStepByStep:
	}
	if was.undo != nil {
		return nil, project.AsUserError(fmt.Errorf("run %s was deployer %s, which cannot be reverted step by step; %s", r.ID, call.Verb, was.undo(call)))
	}
	return nil, project.AsUserError(fmt.Errorf("run %s was deployer %s, which changes nothing that can be reverted", r.ID, call.Verb))
}

// requireWithheld returns an error for a withheld variable that extra does not contain.
func requireWithheld(call journal.Invocation, extra map[string]any) error {
	for _, name := range missingExtra(call.Withheld, extra) {
		return project.AsUserError(fmt.Errorf("set the variable again with -e %s=VALUE: its name %s looks like a secret, so the log does not contain the value", shellquote.Word(name), name))
	}
	return nil
}

// withoutProgram returns a run whose playbook is unknown: of exec, whose only task has
// the id of this one, or of a run about which nothing is known.
func (c Runner) withoutProgram(o Options) (*Run, error) {
	p, err := project.Load(o.Inventory, c.Options)
	if err != nil {
		return nil, err
	}
	run, err := c.newRun(p, project.Inline([]byte("[{name: exec, hosts: all, tasks: [{name: exec, debug: {msg: exec}}]}]"), journal.VerbExec), o)
	if err == nil && o.Verb == journal.VerbUnknown {
		run.Program = &program.Program{}
	}
	return run, err
}

// originalRevert returns the run of an earlier revert.
func (c Runner) originalRevert(r *Revert, call journal.Invocation) (*Run, error) {
	first, err := c.findEntry(call.Reverts, r.options.Options, "revert")
	if err != nil {
		return nil, project.AsUserError(fmt.Errorf("finding the run that %s reverted: %w", r.ID, err))
	}
	if slices.ContainsFunc(r.Entries(), func(e *history.Entry) bool { return e.Header.Run == first.Header.Run }) {
		return nil, project.AsUserError(fmt.Errorf("run %s reverts itself, by way of other runs, so one of their records is wrong; examine the hosts that keep them: %s", first.Header.Run, strings.Join(first.Places(), ", ")))
	}
	r.Reverted = append(r.Reverted, first)
	r.holdLookups(first)
	run, err := c.originalRun(r, first.Header.Invocation)
	if err != nil {
		return nil, err
	}
	back, err := revert.Inverse(run.Program, revert.Options{Run: call.Reverts})
	if err != nil {
		return nil, err
	}
	run.Program = back.Program
	return run, nil
}
