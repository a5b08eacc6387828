package runs

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"

	"deployer/engine/journal"
	"deployer/engine/plan"
	"deployer/project"
	"deployer/runs/history"
)

// recordedPlan is the plan of a run that is resumed.
type recordedPlan struct {
	*plan.Plan
	from journal.Plan
	// copied is true for the copy of a host, which is stored on this machine when the run
	// begins. claimed is true when no log of this machine has its digest: a person confirms it.
	copied, claimed bool
}

// recordedPlan returns the plan that a run applied: the file of this machine, or else the copy
// in the record of a host. The plan of another machine's run has the paths of this machine, and
// starts the same work as the header of the run; another one is an error, so that claims about
// the header are claims about what is executed. All errors are *project.UserError.
func (c Runner) recordedPlan(e *history.Entry) (*recordedPlan, error) {
	h := e.Header
	if e.Here {
		p, from, err := ReadPlan(h.Plan.File)
		if err == nil && from.SHA256 != h.Plan.SHA256 {
			err = project.AsUserError(fmt.Errorf("%s is not the plan that run %s applied; make a new plan", project.Relative(h.Plan.File), h.Run))
		}
		if err == nil || e.PlanFile == "" || !errors.Is(err, fs.ErrNotExist) {
			return &recordedPlan{Plan: p, from: from}, err
		}
	}
	if e.PlanFile == "" {
		return nil, project.AsUserError(fmt.Errorf("no host has the plan that run %s applied: a plan of more than 16 MiB is not in the record; resume the run on the machine where the plan is, or make a new plan", h.Run))
	}
	p, err := readCopiedPlan(e)
	if err != nil {
		return nil, project.AsUserError(fmt.Errorf("%w; examine these hosts, and make a new plan", err))
	}
	return &recordedPlan{Plan: p, from: *h.Plan, copied: true, claimed: !e.Here}, nil
}

// readCopiedPlan reads the plan in the record of a host.
func readCopiedPlan(e *history.Entry) (*plan.Plan, error) {
	h := e.Header
	name := fmt.Sprintf("the plan in the record of run %s (found: %s)", h.Run, strings.Join(e.Places(), ", "))
	data, err := os.ReadFile(e.PlanFile)
	if err != nil {
		return nil, fmt.Errorf("reading %s: %w", name, err)
	}
	if sum := sha256.Sum256(data); hex.EncodeToString(sum[:]) != h.Plan.SHA256 {
		return nil, fmt.Errorf("%s has another digest than the run's header", name)
	}
	p, err := plan.DecodeUntrusted(name, data)
	if err != nil || e.Here {
		return p, err
	}
	p = history.RelocatePlan(p, h.Invocation.Inventory, h.Invocation.Playbook)
	if differences := planDifferences(p.Invocation, h.Invocation); len(differences) > 0 {
		return nil, fmt.Errorf("%s is not one of that run: %s", name, strings.Join(differences, "; "))
	}
	return p, nil
}

// planDifferences compares the invocation of a plan with that of the run that applied it. The
// run may have had another limit, other forks, and more variables than its plan.
func planDifferences(planned, applied journal.Invocation) []string {
	planned.Limit, planned.Forks, planned.Withheld, planned.Prompted = applied.Limit, applied.Forks, applied.Withheld, applied.Prompted
	planned.Extra = mergeVars(applied.Extra, planned.Extra)
	return planned.Differences(applied)
}
