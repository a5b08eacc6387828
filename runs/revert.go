package runs

import (
	"fmt"
	"slices"

	"deployer/engine/journal"
	"deployer/engine/lang"
	"deployer/engine/program"
	"deployer/engine/revert"
	"deployer/project"
	"deployer/runs/history"
	"deployer/shortlist"
)

// RevertOptions are the options of a revert.
type RevertOptions struct {
	// Options of the run that reverts. An empty Inventory means that of the original
	// run; variables are added to those of the original run; tags are ignored.
	Options
	// OriginalRun is the kind of the run when this machine has no log of it: install,
	// the path of a playbook, or unknown.
	OriginalRun string
	// Force also restores resources that have changed since the run.
	// AllowChangedPlaybook accepts a playbook that has changed since the run.
	Force, AllowChangedPlaybook bool
	// LowerMinor accepts that a rollback lowers the minor version of API servers.
	LowerMinor bool
}

// Revert is the revert of a run: Preview queries the hosts, then Run returns the run
// that restores their state.
type Revert struct {
	ID         string             // id of the original run
	Invocation journal.Invocation // invocation of the original run
	// ResumedFrom is the run that the original run resumed, whose changes are not
	// reverted with it; empty for none.
	ResumedFrom string
	// Entry has the log of the original run with its places; nil without a log.
	Entry *history.Entry
	// Reverted are the logs of the runs that the original run reverted, if it was a revert
	// itself, the newest first.
	Reverted []*history.Entry

	options RevertOptions
	log     *runLog
	program *program.Program // program of the original run
	query   *Run             // queries the hosts
	resumes string           // id of an earlier revert that this one resumes
	// lookups are held until Run when a host's record has the original run or one before it:
	// its variables may name files of this machine. nil evaluates them.
	lookups *lang.Lookups
}

// Revert returns the revert of a run, which is named by the beginning of its id. A
// playbook that has changed since the run is a *RefusedError, and an upgrade, which
// [Runner.Rollback] takes back, a *project.UserError.
func (c Runner) Revert(name string, o RevertOptions) (*Revert, error) {
	r, err := c.findRun(name, o)
	if err != nil {
		return nil, project.AsUserError(err)
	}
	if err := c.refuseVersions(r); err != nil {
		return nil, err
	}
	return r, c.prepareRevert(r)
}

// ResumeRevert continues a revert that did not complete, also that of a rollback. Hosts
// have recorded which resources are restored. A minor version that the revert may not
// lower is a *RefusedError.
func (c Runner) ResumeRevert(was journal.Header, given Options) (*Revert, error) {
	o := given
	o.Invocation, o.Playbook = was.Invocation, given.Playbook
	o.LockHosts = was.Invocation.LockHosts || given.LockHosts
	o.Inventory, o.Extra, o.Withheld = project.Relative(was.Invocation.Inventory), mergeVars(was.Invocation.Extra, given.Extra), nil
	if given.Forks > 0 {
		o.Forks = given.Forks
	}
	r, err := c.findRun(was.Invocation.Reverts, RevertOptions{Options: o, Force: was.Invocation.Force,
		AllowChangedPlaybook: was.Invocation.AllowChangedPlaybook, LowerMinor: was.Invocation.LowerMinor})
	if err != nil {
		return nil, project.AsUserError(err)
	}
	r.resumes = was.Run
	if err := refuseLowered(r.lowered(), was.Invocation.LowerMinor); err != nil {
		return nil, err
	}
	return r, c.prepareRevert(r)
}

// findRun finds the log of a run.
func (c Runner) findRun(name string, o RevertOptions) (*Revert, error) {
	record, err := c.findEntry(name, o.Options, journal.VerbRevert)
	switch {
	case record == nil && o.OriginalRun != "":
		return withoutLog(name, o), nil
	case record != nil && record.Damaged != nil && o.OriginalRun != "":
		return withoutLog(record.Header.Run, o), nil
	case record != nil && record.Damaged != nil:
		return nil, fmt.Errorf("%w; name the kind of the run with --original-run to revert it without its log", record.Damaged)
	case err != nil:
		return nil, fmt.Errorf("%w; if no host has its record either (-i INVENTORY --from-hosts), name its kind with --original-run", err)
	}
	h := record.Header
	if record.Outcome == journal.Running {
		return nil, fmt.Errorf("run %s is still running, by %s as process %d; interrupt it first", h.Run, h.By, h.PID)
	}
	if o.Inventory == "" {
		o.Inventory = project.Relative(h.Invocation.Inventory)
	}
	t, err := readRunLog(record.Path)
	r := &Revert{ID: h.Run, ResumedFrom: h.Resumes, Entry: record, Invocation: h.Invocation, log: t, options: o}
	r.holdLookups(record)
	return r, err
}

// holdLookups holds the lookups of this machine when a host has the record of a run.
func (r *Revert) holdLookups(e *history.Entry) {
	if !e.Here && r.lookups == nil {
		r.lookups = lang.HeldLookups()
	}
}

// Entries returns the logs from which the program of the revert is made.
func (r *Revert) Entries() []*history.Entry {
	if r.Entry == nil {
		return r.Reverted
	}
	return append([]*history.Entry{r.Entry}, r.Reverted...)
}

// withoutLog returns the revert of a run whose log is missing.
func withoutLog(name string, o RevertOptions) *Revert {
	if o.Inventory == "" {
		o.Inventory = project.DefaultInventory
	}
	call := journal.Invocation{Verb: journal.VerbRun, Playbook: project.Absolute(o.OriginalRun), Inventory: project.Absolute(o.Inventory)}
	if o.OriginalRun == journal.VerbInstall || o.OriginalRun == journal.VerbUpgrade || o.OriginalRun == journal.VerbUnknown {
		call.Verb, call.Playbook = o.OriginalRun, ""
	}
	return &Revert{ID: name, Invocation: call, log: &runLog{}, options: o}
}

// prepareRevert compiles the original run and the query of the hosts.
func (c Runner) prepareRevert(r *Revert) error {
	original, err := c.originalRun(r, r.Invocation)
	if err != nil {
		return err
	}
	if moved := r.log.movedTasks(original.Program); len(moved) > 0 && r.Invocation.Verb != journal.VerbExec && !r.options.AllowChangedPlaybook {
		return &RefusedError{fmt.Errorf("the playbook has changed since run %s: %s; revert with the earlier playbook, or with --allow-changed-playbook in the present order",
			r.ID, shortlist.Texts(moved, 3))}
	}
	query, err := revert.Query(r.ID, r.options.Force)
	if err != nil {
		return err
	}
	query.Secrets = original.Program.Secrets
	r.program, r.query = original.Program, original.clone(query)
	r.query.Hosts, r.query.Check, r.query.budget, r.query.fetches = r.affectedHosts(original), true, everyHostMayFail(), false
	return nil
}

// affectedHosts returns the hosts of the run; all hosts of the project when the log is
// missing, when tasks are delegated, and for an upgrade, whose gates need the whole cluster.
func (r *Revert) affectedHosts(original *Run) []string {
	if len(r.log.hosts) == 0 || r.Invocation.Verb == journal.VerbUpgrade || slices.ContainsFunc(original.Program.Tasks, func(t *program.Task) bool { return t.Delegate != nil }) {
		return original.Hosts
	}
	return slices.DeleteFunc(slices.Clone(original.Hosts), func(host string) bool { return !r.log.hosts[host] })
}

// Run returns the run that executes the revert of a preview. The caller has confirmed the
// claims of hosts' records: lookups read this machine from now on. Hosts that did not answer the
// preview are missing in it: it restores the others, and its outcome is partial when the run
// may have changed them. Drifted resources are a *RefusedError unless Force is set, and so
// are minor versions of API servers and etcd that the revert may not lower, and hosts
// that are down without which etcd would lose its quorum.
func (r *Revert) Run(preview *RevertPreview) (*Run, error) {
	if err := preview.Refuse(); err != nil {
		return nil, err
	}
	o := r.options
	run := r.query.clone(preview.inverse.Program)
	if r.lookups != nil {
		r.lookups.Release()
		run.variables.ResolveHostVars(run.Extra)
	}
	run.Check, run.logged, run.locks, run.budget, run.resumes = o.Check, true, true, nil, r.resumes
	run.Invocation = journal.Invocation{Verb: journal.VerbRevert, Inventory: o.Inventory, Limit: o.Limit, Forks: o.Forks, LockHosts: o.LockHosts, Extra: r.query.Extra,
		Reverts: r.ID, Force: o.Force, AllowChangedPlaybook: o.AllowChangedPlaybook, LowerMinor: o.LowerMinor}
	missing := r.missing(preview)
	run.Hosts, run.missing = r.runHosts(preview, missing), missing
	if r.Invocation.Verb == journal.VerbUpgrade {
		run.budget = run.upgradeBudget()
	}
	return run, nil
}
