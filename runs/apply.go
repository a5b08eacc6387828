package runs

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"deployer/engine"
	"deployer/engine/journal"
	"deployer/engine/plan"
	"deployer/engine/schedule"
	"deployer/engine/session"
	"deployer/engine/view"
	"deployer/project"
)

// Apply returns a run that executes a plan and nothing else. Apply itself returns a
// *DriftError when files have changed since the plan. The run first checks all hosts
// again and ends with a *DriftError, before any change, when a host differs from the
// plan. The options that it uses are Forks, and variables whose values the plan omits.
func (c Runner) Apply(p *plan.Plan, from journal.Plan, given Options) (*Run, error) {
	given.skipVarCheck = true // changed files are reported as drift below
	r, err := c.rerun(p.Invocation, given)
	if err != nil {
		return nil, err
	}
	if missing := r.missingVars(p.Invocation.Withheld); len(missing) > 0 {
		return nil, project.AsUserError(fmt.Errorf("variables whose names look like secrets are not in the plan; set them with -e: %s", strings.Join(missing, ", ")))
	}
	if r.Verb == journal.VerbInstall || r.Verb == journal.VerbStart {
		r.budget = r.spareMinionBudget()
	}
	r.applies, r.applied = p, &from
	digests := r.Project.DigestsNow(p.Files)
	if drift := c.versionDrift(p); len(drift)+len(plan.FileDrift(p, r.Project.Digests(), false)) > 0 || missingFile(p, digests) {
		return nil, &DriftError{append(drift, plan.FileDrift(p, digests, false)...)}
	}
	r.Hosts = slices.DeleteFunc(hostNames(p), func(host string) bool { return !slices.Contains(r.Hosts, host) })
	return r, nil
}

// missingFile reports whether a file of the plan does not exist any more. Without a
// template no host can be checked.
func missingFile(p *plan.Plan, now map[string]string) bool {
	for path := range p.Files {
		if digest, ok := now[path]; ok && digest == "" {
			return true
		}
	}
	return false
}

// apply checks all hosts, compares the result with the plan, and executes the plan. The
// hosts stay connected and locked in between. apply returns the report of the check when
// the check did not complete.
func (s *execution) apply(ctx context.Context) (*engine.Report, error) {
	sessions := session.NewPool(s.connector)
	defer sessions.Close()
	found := plan.NewCollector()
	check := s.options()
	check.Connector, check.CheckOnly, check.Sink = sessions, true, found
	if s.observer.CheckSink != nil {
		check.Sink = view.Tee(found, s.observer.CheckSink)
	}
	report, err := schedule.Run(ctx, s.Program, check)
	if err != nil {
		return nil, err
	}
	switch report.Outcome() {
	case engine.OutcomeInterrupted:
		return report, nil
	case engine.OutcomeAborted, engine.OutcomeRestored:
		if drift := plan.FileDrift(s.applies, s.Project.DigestsNow(s.applies.Files), false); len(drift) > 0 {
			return nil, &DriftError{drift} // the probable cause of the failed check
		}
		return report, nil
	}
	if drift := s.drift(found.Plan(s.Hosts)); len(drift) > 0 {
		return nil, &DriftError{drift}
	}
	if err := s.startLog(); err != nil {
		return nil, err
	}
	run := s.options()
	run.Connector, run.Expect = sessions, plan.NewEnforcer(s.applies).Expected
	return schedule.Run(ctx, s.Program, run)
}

// drift compares the plan with the result of the check. When a plan was applied in
// part, it compares only the rest.
func (s *execution) drift(now *plan.Plan) []plan.Drift {
	drift := plan.FileDrift(s.applies, s.Project.Digests(), true)
	if s.resumes == "" {
		return append(drift, plan.HostDrift(s.applies, now)...)
	}
	return append(drift, plan.Beyond(s.applies, now)...)
}

func hostNames(p *plan.Plan) []string {
	names := make([]string, len(p.Hosts))
	for i, h := range p.Hosts {
		names[i] = h.Name
	}
	return names
}

// versionDrift reports a plan of another version, whose built-in playbooks and checks
// may differ.
func (c Runner) versionDrift(p *plan.Plan) []plan.Drift {
	if p.Deployer == c.Version {
		return nil
	}
	return []plan.Drift{{Subject: "deployer", Difference: fmt.Sprintf("is version %s, the plan was made by %s", c.Version, p.Deployer)}}
}
