package runs

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"os"
	"time"

	"deployer/engine"
	"deployer/engine/journal"
	"deployer/engine/plan"
	"deployer/engine/view"
	"deployer/project"
)

// PlanResult is the plan of a run, with the report of the check that made it.
type PlanResult struct {
	Plan   *plan.Plan // nil when the check did not complete
	Report *engine.Report
}

// Plan checks the hosts and changes nothing. The run must have been created with
// Options.Check.
func (r *Run) Plan(ctx context.Context, w Observer) (*PlanResult, error) {
	found := plan.NewCollector()
	if w.Sink != nil {
		w.Sink = view.Tee(w.Sink, found)
	} else {
		w.Sink = found
	}
	report, err := r.Do(ctx, w)
	if err != nil {
		return nil, err
	}
	if end := report.Outcome(); end != engine.OutcomeDone && end != engine.OutcomePartial {
		return &PlanResult{Report: report}, nil
	}
	p := found.Plan(r.Hosts)
	p.Deployer, p.Made, p.By = r.runner.Version, time.Now().UTC(), whoami()
	p.Invocation, p.Files = r.RecordedInvocation(), r.Project.Digests()
	return &PlanResult{p, report}, nil
}

// ReadPlan reads a plan from a file. All its errors are *project.UserError.
func ReadPlan(file string) (*plan.Plan, journal.Plan, error) {
	p, digest, err := readPlan(file)
	if err != nil {
		return nil, journal.Plan{}, project.AsUserError(err)
	}
	return p, journal.Plan{File: project.Absolute(file), SHA256: digest}, nil
}

func readPlan(file string) (p *plan.Plan, digest string, err error) {
	data, err := os.ReadFile(file)
	if err != nil {
		return nil, "", fmt.Errorf("reading the plan: %w", err)
	}
	if p, err = plan.Decode(file, data); err != nil {
		return nil, "", err
	}
	sum := sha256.Sum256(data)
	return p, hex.EncodeToString(sum[:]), nil
}
