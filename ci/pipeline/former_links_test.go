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

// TestLinksOfTheFormerRevision: the revision before an unapproved push is one that nobody has
// approved either, where the CI system names it. Its links out of the repository are not followed.
func TestLinksOfTheFormerRevision(t *testing.T) {
	outside := filepath.Join(t.TempDir(), "outside.yaml")
	if err := os.WriteFile(outside, []byte("environments: {production: {inventories: [inventory.yaml], gates: {blast_radius: {limit: 0}}}}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	s := newSite(t, map[string]string{"inventory.yaml": inventoryOf("a", "v1.35.4", "n[1:2]")})
	if err := os.Symlink(outside, filepath.Join(s.dir, "deployer.ci.yaml")); err != nil {
		t.Fatal(err)
	}
	s.git("add", ".")
	former := s.commit(nil)
	s.git("rm", "-q", "deployer.ci.yaml")
	s.commit(map[string]string{"inventory.yaml": inventoryOf("b", "v1.35.4", "n[1:3]")})
	o := s.options()
	o.Before, o.Unmerged = former, true
	p, err := pipeline.Open(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close(t.Context())
	r, err := p.Assess(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	s.requireOutcome(r, report.Passed)
	found := r.Findings()
	want := "the revision " + report.Short(former) + " that the cluster has is not valid: deployer.ci.yaml: the link leads to " + outside
	if len(found) != 1 || found[0].Level != gate.Advise || !strings.Contains(found[0].Message, want) {
		t.Errorf("findings %v, want %q", found, want)
	}
}
