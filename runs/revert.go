package runs

import (
	"fmt"
	"slices"
	"strings"

	"deployer/engine/journal"
	"deployer/engine/playbook"
	"deployer/engine/revert"
	"deployer/project"
)

// RevertOptions say how a run is put back.
type RevertOptions struct {
	// Options are those of the revert. Without an inventory it is that of the run;
	// variables are added to those of the run; there are no tags.
	Options
	// Of says what the run was when this machine has no log of it: install, a
	// playbook, or unknown.
	OriginalRun string
	// Force puts back also what somebody has changed since; Anyway goes on
	// although the playbook is not what it was.
	Force, AllowChangedPlaybook bool
}

// Revert is a run that is to be put back: hosts are asked first what there is
// to do, and then it is done.
type Revert struct {
	ID         string             // of the run
	Invocation journal.Invocation // what it was
	// WentOnFrom is the run that it went on from, which is not put back with it;
	// empty for none.
	ResumedFrom string

	options RevertOptions
	log     *runLog           // what its log says; empty without one
	program *playbook.Program // of the run
	query   *Run              // asks the hosts
	resumes string            // an earlier revert that this one goes on from
}

// Revert makes ready the way back of a run, which is named by the beginning of its
// id. A playbook that is not what it was then is a *Refusal.
func (c Runner) Revert(name string, o RevertOptions) (*Revert, error) {
	r, err := findRun(name, o)
	if err != nil {
		return nil, project.AsUserError(err)
	}
	return r, c.prepareRevert(r)
}

// ResumeRevert makes ready to go on with a revert that did not come to its end:
// hosts know what is put back already.
func (c Runner) ResumeRevert(was journal.Header, given Options) (*Revert, error) {
	o := given
	o.Invocation = was.Invocation
	o.Inventory, o.Extra, o.Withheld = project.Relative(was.Invocation.Inventory), mergeVars(was.Invocation.Extra, given.Extra), nil
	if given.Forks > 0 {
		o.Forks = given.Forks
	}
	r, err := findRun(was.Invocation.Reverts, RevertOptions{Options: o, Force: was.Invocation.Force, AllowChangedPlaybook: was.Invocation.AllowChangedPlaybook})
	if err != nil {
		return nil, project.AsUserError(err)
	}
	r.resumes = was.Run
	return r, c.prepareRevert(r)
}

// findRun finds the run.
func findRun(name string, o RevertOptions) (*Revert, error) {
	dir, err := journal.Dir()
	if err != nil {
		return nil, err
	}
	record, err := journal.Find(dir, name)
	switch {
	case record == nil && o.OriginalRun != "":
		return withoutLog(name, o), nil
	case record != nil && record.Damaged != nil && o.OriginalRun != "":
		return withoutLog(record.Header.Run, o), nil
	case record != nil && record.Damaged != nil:
		return nil, fmt.Errorf("%w; say what the run was with --of, as if this machine had no log of it", record.Damaged)
	case err != nil:
		return nil, fmt.Errorf("%w; if it was run from another machine, say what it was with --of", err)
	}
	h := record.Header
	if record.Outcome == journal.Running {
		return nil, fmt.Errorf("run %s goes on, as process %d; interrupt it first", h.Run, h.PID)
	}
	if o.Inventory == "" {
		o.Inventory = project.Relative(h.Invocation.Inventory)
	}
	t, err := readRunLog(journal.Path(dir, h.Run))
	return &Revert{ID: h.Run, ResumedFrom: h.Resumes, Invocation: h.Invocation, log: t, options: o}, err
}

// withoutLog is a run of which there is what somebody says that it was.
func withoutLog(name string, o RevertOptions) *Revert {
	if o.Inventory == "" {
		o.Inventory = project.DefaultInventory
	}
	call := journal.Invocation{Verb: verbRun, Playbook: project.Absolute(o.OriginalRun), Inventory: project.Absolute(o.Inventory)}
	if o.OriginalRun == verbInstall || o.OriginalRun == verbUnknown {
		call.Verb, call.Playbook = o.OriginalRun, ""
	}
	return &Revert{ID: name, Invocation: call, log: &runLog{}, options: o}
}

// prepareRevert finds out which way the run went, and makes ready to ask the hosts.
func (c Runner) prepareRevert(r *Revert) error {
	forward, err := c.originalRun(r, r.Invocation)
	if err != nil {
		return err
	}
	if moved := r.log.movedTasks(forward.Program); len(moved) > 0 && r.Invocation.Verb != verbExec && !r.options.AllowChangedPlaybook {
		return &RefusedError{fmt.Errorf("the playbook is not what it was in run %s: %s; revert with the playbook as it was, or with --anyway in the order that it has now",
			r.ID, strings.Join(moved, "; "))}
	}
	ask, err := revert.Query(r.ID, r.options.Force)
	if err != nil {
		return err
	}
	ask.Secrets = forward.Program.Secrets
	r.program, r.query = forward.Program, forward.clone(ask)
	r.query.Hosts, r.query.Check, r.query.budget, r.query.fetches = r.affectedHosts(forward), true, everyHostMayFail(), false
	return nil
}

// affectedHosts are the hosts that had a part in the run; all of the project's where
// nobody knows, or where tasks may have worked on other hosts than their own.
func (r *Revert) affectedHosts(forward *Run) []string {
	if len(r.log.hosts) == 0 || slices.ContainsFunc(forward.Program.Tasks, func(t *playbook.Task) bool { return t.Delegate != nil }) {
		return forward.Hosts
	}
	return slices.DeleteFunc(slices.Clone(forward.Hosts), func(host string) bool { return !r.log.hosts[host] })
}

// Run makes ready the run that does what was found to be done.
func (r *Revert) Run(found *RevertPreview) (*Run, error) {
	if err := found.RefuseDrift(); err != nil {
		return nil, err
	}
	o := r.options
	run := r.query.clone(found.inverse.Program)
	run.Check, run.logged, run.locks, run.budget, run.resumes = o.Check, true, true, nil, r.resumes
	run.Invocation = journal.Invocation{Verb: verbRevert, Inventory: o.Inventory, Limit: o.Limit, Forks: o.Forks, LockHosts: o.LockHosts, Extra: r.query.Extra,
		Reverts: r.ID, Force: o.Force, AllowChangedPlaybook: o.AllowChangedPlaybook}
	if found.inverse.Everyone {
		run.Hosts = run.Project.Hosts
	} else {
		run.Hosts = slices.DeleteFunc(slices.Clone(run.Hosts), func(host string) bool { return len(found.Past[host].Items) == 0 })
	}
	return run, nil
}
