package pipeline_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"deployer/ci/gate"
	"deployer/ci/pipeline"
	"deployer/ci/report"
)

// TestStateOutsideOfTheBranch: the verified revision, or the one of a deploy that stopped, is not
// part of the branch, as after a history that was rewritten. Nothing of it is executed.
func TestStateOutsideOfTheBranch(t *testing.T) {
	for _, way := range []string{"verified", "deploying"} {
		t.Run(way, func(t *testing.T) {
			s := deployed(t, nil)
			s.git("checkout", "-q", "-b", "feature")
			feature := s.commit(map[string]string{"inventory.yaml": inventoryOf("f", "v1.35.4", "n[1:3]")})
			if way == "deploying" {
				s.write(filepath.Join(s.fake, "fail scale-up @f"), "1")
			}
			s.run(s.options())
			s.git("checkout", "-q", "main")
			s.commit(map[string]string{"inventory.yaml": inventoryOf("b", "v1.35.4", "n[1:2]")})
			s.calls()

			want := "names " + report.Short(feature) + ", outside of the branch main"
			open := func(o pipeline.Options) *pipeline.Pipeline {
				t.Helper()
				p, err := pipeline.Open(t.Context(), o)
				if err != nil {
					t.Fatal(err)
				}
				t.Cleanup(func() { p.Close(t.Context()) })
				return p
			}
			if _, err := open(s.options()).Run(t.Context()); err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), "deployer ci run --old REVISION") {
				t.Errorf("run: %v", err)
			}
			if _, err := open(s.options()).Rollback(t.Context(), "", ""); err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("rollback: %v", err)
			}
			if r, _, err := open(s.options()).Drift(t.Context()); err != nil || r.Outcome != report.Failed || !strings.Contains(r.Stages[0].Message, want) {
				t.Errorf("drift: %+v, %v", r, err)
			}
			r, err := open(s.options()).Assess(t.Context())
			if err != nil || r.Outcome != report.Refused {
				t.Errorf("validate: %+v, %v", r, err)
			}
			if _, err := os.Stat(filepath.Join(s.fake, "state", "checkouts", feature)); err == nil && way == "verified" {
				_ = os.RemoveAll(filepath.Join(s.fake, "state", "checkouts", feature))
			}
			s.requireCalls()

			o := s.options()
			o.Old = feature
			r, _ = s.run(o)
			s.requireOutcome(r, report.Deployed)
			s.requireCalls("scale-down n3 --check @f", "scale-down --yes n3 @f", "verify @b")
			r, _ = s.run(s.options())
			s.requireOutcome(r, report.Nothing)
		})
	}
}

// TestVerifiedRevisionsOutsideOfTheBranch: a rollback returns to no revision that the branch does
// not have any more.
func TestVerifiedRevisionsOutsideOfTheBranch(t *testing.T) {
	s := deployed(t, nil)
	removed := s.commit(map[string]string{"inventory.yaml": inventoryOf("b", "v1.35.4", "n[1:3]")})
	r, _ := s.run(s.options())
	s.requireOutcome(r, report.Deployed)
	s.git("reset", "-q", "--hard", "HEAD~1")
	s.commit(map[string]string{"inventory.yaml": inventoryOf("c", "v1.35.4", "n[1:3]")})
	o := s.options()
	o.Old = removed
	r, _ = s.run(o)
	s.requireOutcome(r, report.Deployed)
	s.commit(map[string]string{"inventory.yaml": inventoryOf("d", "v1.35.4", "n[1:4]")})
	r, _ = s.run(s.options())
	s.requireOutcome(r, report.Deployed)
	s.calls()
	p, err := pipeline.Open(t.Context(), s.options())
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close(t.Context())
	if _, err := p.Rollback(t.Context(), "inventory.yaml", removed); err == nil || !strings.Contains(err.Error(), "was never verified") {
		t.Errorf("rollback to %s: %v", removed, err)
	}
	s.requireCalls()
}

// TestMetricsAreTheRunners: a revision does not choose the file that the metrics replace.
func TestMetricsAreTheRunners(t *testing.T) {
	dir := t.TempDir()
	victim, file := filepath.Join(dir, "victim"), filepath.Join(dir, "deployer.prom")
	s := deployed(t, map[string]string{"deployer.ci.yaml": "metrics: " + victim + "\n"})
	s.write(victim, "original")
	o := s.options()
	o.Metrics = file
	r, p := s.run(o)
	if err := p.WriteReports(r, filepath.Join(dir, "reports")); err != nil {
		t.Fatal(err)
	}
	if text, err := os.ReadFile(victim); err != nil || string(text) != "original" {
		t.Errorf("the file of the revision has %q, %v", text, err)
	}
	if text, err := os.ReadFile(file); err != nil || !strings.Contains(string(text), "deployer_ci_last_run_info") {
		t.Errorf("the file of the runner has %q, %v", text, err)
	}
	found := r.Findings()
	if len(found) != 1 || found[0].Level != gate.Advise || !strings.Contains(found[0].String(), "metrics is ignored") || !strings.Contains(found[0].Advice, "--metrics or $DEPLOYER_CI_METRICS_FILE") {
		t.Errorf("findings %v", found)
	}
}
