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
	"deployer/engine/view"
	"deployer/project"
)

// Apply makes ready a run that does what a plan says and nothing else: before it
// changes anything it looks at all hosts again, and ends with a *DriftError when
// they are not what the plan was made for. What the call of the given options says
// counts for the number of hosts at one time and for variables that the plan holds
// only by name. Files that have changed are a *DriftError at once.
func (c Runner) Apply(p *plan.Plan, from journal.Plan, given Options) (*Run, error) {
	given.skipVarCheck = true // what is wrong with changed files is that they have changed
	r, err := c.rerun(p.Invocation, given)
	if err != nil {
		return nil, err
	}
	if missing := r.missingVars(p.Invocation.Withheld); len(missing) > 0 {
		return nil, project.AsUserError(fmt.Errorf("give these variables again with -e, as they look like secrets and are not in the plan: %s", strings.Join(missing, ", ")))
	}
	r.applies, r.applied = p, &from
	ahead := r.Project.DigestsNow(p.Files)
	if drift := c.versionDrift(p); len(drift)+len(plan.FileDrift(p, r.Project.Digests(), false)) > 0 || missingFile(p, ahead) {
		return nil, &DriftError{append(drift, plan.FileDrift(p, ahead, false)...)}
	}
	r.Hosts = slices.DeleteFunc(hostNames(p), func(host string) bool { return !slices.Contains(r.Hosts, host) })
	return r, nil
}

// missingFile tells whether a file of the plan is not there any more: no host could be
// looked at with a template that is missing.
func missingFile(p *plan.Plan, now map[string]string) bool {
	for path := range p.Files {
		if digest, ok := now[path]; ok && digest == "" {
			return true
		}
	}
	return false
}

// apply is a look at all hosts, which must find what the plan has, and the run
// itself. The hosts stay connected and locked in between. The report is that of
// the look when that did not come to its end.
func (s *execution) apply(ctx context.Context) (*engine.Report, error) {
	sessions := schedule.Keep(s.connector)
	defer sessions.Close()
	found := plan.NewCollector()
	look := s.options()
	look.Connector, look.Check, look.Sink = sessions, true, found
	if s.observer.CheckSink != nil {
		look.Sink = view.Tee(found, s.observer.CheckSink)
	}
	report, err := schedule.Run(ctx, s.Program, look)
	if err != nil {
		return nil, err
	}
	switch report.Outcome() {
	case engine.OutcomeInterrupted:
		return report, nil
	case engine.OutcomeAborted, engine.OutcomeRestored:
		if drift := plan.FileDrift(s.applies, s.Project.DigestsNow(s.applies.Files), false); len(drift) > 0 {
			return nil, &DriftError{drift} // why the look has failed, most likely
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
	run.Connector, run.Expect = sessions, plan.NewEnforcer(s.applies).Of
	return schedule.Run(ctx, s.Program, run)
}

// drift compares the plan with what was found now. Of a plan that was applied in
// part only what is left can be compared.
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

// versionDrift: another deployer has other playbooks of its own, and may see
// hosts in another way.
func (c Runner) versionDrift(p *plan.Plan) []plan.Drift {
	if p.Deployer == c.Version {
		return nil
	}
	return []plan.Drift{{Subject: "deployer", Difference: fmt.Sprintf("is version %s, the plan was made by %s", c.Version, p.Deployer)}}
}
