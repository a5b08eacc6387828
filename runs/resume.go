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

// Resume makes ready a run that goes on with one that did not come to its end: the
// same again, of which what is done is not done twice. Of a run that left hosts
// out only these are tried. It is refused when files or the program have changed
// since, unless anyway. A revert is resumed with [Runner.ResumeRevert].
//
// What is given anew is as with [Runner.Apply].
func (c Runner) Resume(r *journal.Record, given Options, anyway bool) (*Run, error) {
	h := r.Header
	if h.Invocation.Verb == verbRun && r.Outcome == engine.OutcomePartial {
		h.Invocation.Limit = strings.Join(failedHosts(r.Report), ",")
	}
	if h.Plan != nil {
		return c.resumeApply(h, given)
	}
	run, err := c.rerun(h.Invocation, given)
	if err != nil {
		return nil, err
	}
	if missing := run.missingVars(h.Invocation.Withheld); len(missing) > 0 {
		return nil, project.AsUserError(errors.New("give these variables again, they look like secrets and were not written down: " + ResumeCommand(h.Run, missing)))
	}
	if changed := c.changedSince(h, run.Project.Digests()); len(changed) > 0 && !anyway {
		return nil, &RefusedError{fmt.Errorf("not the same any more since run %s: %s; to go on with what is there now, use --anyway", h.Run, strings.Join(changed, ", "))}
	}
	run.resumes = h.Run
	return run, nil
}

// resumeApply goes on with a plan that was applied in part.
func (c Runner) resumeApply(h journal.Header, given Options) (*Run, error) {
	p, from, err := ReadPlan(h.Plan.File)
	if err != nil {
		return nil, err
	}
	if from.SHA256 != h.Plan.SHA256 {
		return nil, project.AsUserError(fmt.Errorf("%s is not the plan that run %s applied; make a new plan", project.Relative(h.Plan.File), h.Run))
	}
	if given.Check {
		return nil, project.AsUserError(errors.New("what is left of a plan is looked at before it is done; --check is not needed"))
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

// changedSince names what a run began with and what is not the same any more.
func (c Runner) changedSince(h journal.Header, now map[string]string) []string {
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
	if h.Deployer != c.Version {
		out = append(out, fmt.Sprintf("deployer itself (%s, now %s)", h.Deployer, c.Version))
	}
	return out
}
