package pipeline_test

import (
	"strings"
	"testing"

	"deployer/ci/pipeline"
	"deployer/ci/report"
)

// TestDriftOfAnInvalidRevision: when the revision of the branch is invalid, the
// clusters still have a revision to compare with.
func TestDriftOfAnInvalidRevision(t *testing.T) {
	broken := strings.Replace(inventoryOf("b", "v1.35.4", "n1"), "kubernetes:", "kubernets:", 1)
	drift := func(s *site) *report.Run {
		t.Helper()
		p, err := pipeline.Open(t.Context(), s.options())
		if err != nil {
			t.Fatal(err)
		}
		r, _, err := p.Drift(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		return r
	}
	s := deployed(t, nil)
	s.commit(map[string]string{"inventory.yaml": broken})
	s.requireOutcome(drift(s), report.Passed)
	s.requireCalls("apply --check --detailed-exitcode @a")

	s = newSite(t, map[string]string{"inventory.yaml": broken})
	r := drift(s)
	s.requireOutcome(r, report.Failed)
	if len(r.Stages) != 1 || !strings.Contains(r.Stages[0].Message, "unknown key") {
		t.Errorf("stages: %+v", r.Stages)
	}
	s.requireCalls()

	s = newSite(t, map[string]string{"README.md": "no inventory"})
	s.requireOutcome(drift(s), report.Failed)
}
