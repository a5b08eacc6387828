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
)

// Resume returns a run that continues one that did not complete: the same playbook on
// the same hosts, where steps find completed work done. When the earlier run completed
// without some hosts, only these are contacted. Resume returns a *RefusedError when
// files or the program have changed since, unless allowChanged is set. The given
// options are used as in [Runner.Apply]. See [Runner.ResumeRevert] for reverts.
func (c Runner) Resume(r *journal.Record, given Options, allowChanged bool) (*Run, error) {
	h := r.Header
	if h.Invocation.Verb == verbRun && r.Outcome == engine.OutcomePartial {
		h.Invocation.Limit = strings.Join(failedHosts(r.Report), ",")
	}
	if h.Plan != nil {
		run, err := c.resumeApply(h, given)
		if err == nil {
			run.passedPauses, run.failedBefore = passedPauses(r), slices.Sorted(maps.Keys(r.Parked))
		}
		return run, err
	}
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
	run.resumes, run.passedPauses, run.failedBefore = h.Run, passedPauses(r), slices.Sorted(maps.Keys(r.Parked))
	return run, nil
}

// passedPauses returns the rollouts that have paused in a run: to resume it confirms them.
func passedPauses(r *journal.Record) []string {
	if r.Report == nil {
		return nil
	}
	return r.Report.Paused
}

// resumeApply continues a plan that was applied in part.
func (c Runner) resumeApply(h journal.Header, given Options) (*Run, error) {
	p, from, err := ReadPlan(h.Plan.File)
	if err != nil {
		return nil, err
	}
	if from.SHA256 != h.Plan.SHA256 {
		return nil, project.AsUserError(fmt.Errorf("%s is not the plan that run %s applied; make a new plan", project.Relative(h.Plan.File), h.Run))
	}
	if given.Check {
		return nil, project.AsUserError(errors.New("--check is not possible when resuming an apply, which checks all hosts before it changes any; leave it out"))
	}
	p.Invocation.Limit = h.Invocation.Limit
	run, err := c.Apply(p, from, given)
	if err != nil {
		return nil, err
	}
	run.resumes = h.Run
	return run, nil
}

func failedHosts(r *engine.Report) []string {
	var out []string
	for _, h := range r.Broken() {
		out = append(out, h.Host)
	}
	return out
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
