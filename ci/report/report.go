// Package report has the record of a CI run, [Run], and writes it in the forms that
// people and CI systems read: Markdown and HTML for a merge request, JSON, JUnit XML,
// annotations of GitHub, code-quality entries of GitLab, metrics of Prometheus. The
// functions are pure; callers mask secrets in the texts that the functions return.
package report

import (
	"slices"
	"time"

	"deployer/ci/change"
	"deployer/ci/gate"
)

// Outcome is the outcome of a run, a stage or a cluster.
type Outcome string

// The outcomes.
const (
	Passed     Outcome = "passed"
	Nothing    Outcome = "nothing to do"
	Deployed   Outcome = "deployed"
	Refused    Outcome = "refused"
	Failed     Outcome = "failed"
	RolledBack Outcome = "rolled back"
	Skipped    Outcome = "skipped"
	// Interrupted runs are resumed by the next run.
	Interrupted Outcome = "interrupted"
)

// Run is the record of a run of the pipeline.
type Run struct {
	Format   int        `json:"format"`
	Started  time.Time  `json:"started"`
	Seconds  float64    `json:"seconds"`
	Revision string     `json:"revision"`
	Subject  string     `json:"subject,omitempty"` // first line of the commit message
	Plan     string     `json:"plan,omitempty"`    // digest of the plans of all clusters, which --approve names
	Outcome  Outcome    `json:"outcome"`
	Clusters []*Cluster `json:"clusters"`
	Stages   []*Stage   `json:"stages,omitempty"`
}

// Cluster is the record of the work of a run on one cluster.
type Cluster struct {
	Environment string         `json:"environment"`
	Inventory   string         `json:"inventory"` // relative to the repository
	Name        string         `json:"name"`
	From        string         `json:"from,omitempty"` // commit that the change starts from; empty for none
	To          string         `json:"to"`
	Change      change.Change  `json:"change"`
	Touched     int            `json:"touched"` // hosts on which the change does something
	Hosts       int            `json:"hosts"`   // hosts of the new revision
	Steps       []change.Step  `json:"steps,omitempty"`
	Plan        string         `json:"plan,omitempty"` // digest
	PlanText    string         `json:"plan_text,omitempty"`
	Findings    []gate.Finding `json:"findings,omitempty"`
	Outcome     Outcome        `json:"outcome,omitempty"`
	// Resumed is true when the run continued one that had been killed.
	Resumed bool `json:"resumed,omitempty"`
}

// Stage is one stage of a run.
type Stage struct {
	Name    string            `json:"name"`
	Outcome Outcome           `json:"outcome"`
	Started time.Time         `json:"started"`
	Seconds float64           `json:"seconds"`
	Message string            `json:"message,omitempty"` // why it did not pass
	Log     string            `json:"log,omitempty"`     // file in the directory of reports
	Outputs map[string]string `json:"outputs,omitempty"`
	// Artifacts are files in the directory of reports.
	Artifacts []string `json:"artifacts,omitempty"`
}

// Findings returns the findings of all clusters without duplicates: a shared file has its
// problem once.
func (r *Run) Findings() []gate.Finding {
	var out []gate.Finding
	for _, c := range r.Clusters {
		for _, f := range c.Findings {
			if !slices.Contains(out, f) {
				out = append(out, f)
			}
		}
	}
	return out
}

// Short returns the first characters of a commit.
func Short(commit string) string {
	if len(commit) > 10 {
		return commit[:10]
	}
	if commit == "" {
		return "-"
	}
	return commit
}
