package runs

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"deployer/engine"
	"deployer/engine/journal"
	"deployer/project"
	"deployer/runs/history"
)

// Resume returns a run that continues one that did not complete: the same playbook on
// the same hosts, where steps find completed work done. When the earlier run completed
// without some hosts, only these are contacted. Resume returns a *RefusedError when
// files or the program have changed since, unless allowChanged is set. The given
// options are used as in [Runner.Apply]. The claims of a host's record
// (history.Entry.Claims), and a plan that [Run.ClaimedPlan] returns, are for the caller to
// confirm. See [Runner.ResumeRevert] for reverts.
func (c Runner) Resume(e *history.Entry, given Options, allowChanged bool) (*Run, error) {
	h := e.Header
	limit, failed := h.Invocation.Limit, failedHosts(e.Record)
	if failed != nil {
		h.Invocation.Limit = strings.Join(failed, ",")
	}
	var run *Run
	var err error
	if h.Plan != nil {
		run, err = c.resumeApply(e, h.Invocation, given)
	} else {
		run, err = c.resumeRerun(h, given, allowChanged)
	}
	if err != nil {
		return nil, err
	}
	if err := run.requireWithin(limit, failed); err != nil {
		return nil, project.AsUserError(fmt.Errorf("resuming run %s: %w", h.Run, err))
	}
	run.resumes, run.passedPauses, run.failedBefore = h.Run, passedPauses(e.Record), slices.Sorted(maps.Keys(e.Parked))
	return run, nil
}

// resumeRerun repeats the invocation of a run without a plan.
func (c Runner) resumeRerun(h journal.Header, given Options, allowChanged bool) (*Run, error) {
	run, err := c.rerun(h.Invocation, given)
	if err != nil {
		return nil, err
	}
	if missing := run.missingVars(h.Invocation.Withheld); len(missing) > 0 {
		return nil, project.AsUserError(errors.New("variables whose names look like secrets are not in the log; set them again: " + ResumeCommand(h.Run, missing)))
	}
	if changed := c.changedSince(h, run.Project.Digests()); len(changed) > 0 && !allowChanged {
		return nil, &RefusedError{fmt.Errorf("changed since run %s: %s; to continue with the present files, use --allow-changed-playbook", h.Run, strings.Join(changed, ", "))}
	}
	return run, nil
}

// passedPauses returns the rollouts that have paused in a run: to resume it confirms them.
func passedPauses(r *journal.Record) []string {
	if r.Report == nil {
		return nil
	}
	return r.Report.Paused
}

// resumeApply continues a plan that was applied in part, with the invocation of that run.
func (c Runner) resumeApply(e *history.Entry, call journal.Invocation, given Options) (*Run, error) {
	p, err := c.recordedPlan(e)
	if err != nil {
		return nil, err
	}
	if given.Check {
		return nil, project.AsUserError(errors.New("--check is not possible when resuming an apply, which checks all hosts before it changes any; leave it out"))
	}
	if e.Here {
		p.Invocation.Limit = call.Limit
	} else {
		p.Invocation = call // whose claims were confirmed
	}
	run, err := c.Apply(p.Plan, p.from, given)
	if err != nil {
		return nil, err
	}
	run.storesPlan, run.claimedPlan = p.copied, p.claimed
	return run, nil
}

// failedHosts returns the hosts to which a resumed run of a playbook is limited; nil when it
// has no such limit.
func failedHosts(r *journal.Record) []string {
	if r.Header.Invocation.Verb != journal.VerbRun || r.Outcome != engine.OutcomePartial {
		return nil
	}
	var out []string
	seen := map[string]bool{}
	for _, h := range r.Report.Broken() {
		if !seen[h.Host] {
			seen[h.Host], out = true, append(out, h.Host)
		}
	}
	return out
}

// requireWithin returns an error when a run that is limited to failed hosts has another host,
// or one outside of the limit of the run that it resumes: in the record of a host, the name of
// a failed host may be a pattern.
func (r *Run) requireWithin(limit string, failed []string) error {
	if failed == nil {
		return nil
	}
	within := r.Project.Hosts
	if limit != "" {
		var err error
		if within, err = r.Project.Match(limit); err != nil {
			return err
		}
	}
	allowed := map[string]bool{}
	for _, host := range within {
		allowed[host] = slices.Contains(failed, host)
	}
	for _, host := range r.Hosts {
		if !allowed[host] {
			return fmt.Errorf("its record names %q as the hosts that failed, which also matches %s; name the hosts with --limit in a run of the playbook", strings.Join(failed, ","), host)
		}
	}
	return nil
}

// changedSince lists the files, and the version of deployer, that differ from those of
// an earlier run.
func (c Runner) changedSince(h journal.Header, now map[string]string) []string {
	var out []string
	for _, path := range slices.Sorted(maps.Keys(h.Files)) {
		switch digest, ok := now[path]; {
		case !ok:
			out = append(out, project.Relative(path)+" (no longer used)")
		case digest != h.Files[path]:
			out = append(out, project.Relative(path))
		}
	}
	for _, path := range slices.Sorted(maps.Keys(now)) {
		if _, ok := h.Files[path]; !ok {
			out = append(out, project.Relative(path)+" (new)")
		}
	}
	if h.Deployer != c.Version {
		out = append(out, fmt.Sprintf("deployer itself (%s, now %s)", h.Deployer, c.Version))
	}
	return out
}
