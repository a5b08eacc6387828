package pipeline_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"deployer/ci/pipeline"
	"deployer/ci/report"
)

// rollback runs `deployer ci rollback` for a cluster; for all without a name.
func (s *site) rollback(inventory, to string) *report.Run {
	s.t.Helper()
	p, err := pipeline.Open(s.t.Context(), s.options())
	if err != nil {
		s.t.Fatal(err)
	}
	defer p.Close(s.t.Context())
	r, err := p.Rollback(s.t.Context(), inventory, to)
	if err != nil {
		s.t.Fatal(err)
	}
	return r
}

// upgradedSite returns a site whose second revision has another version and is verified.
func upgradedSite(t *testing.T) *site {
	t.Helper()
	s := deployed(t, nil)
	s.commit(map[string]string{"inventory.yaml": inventoryOf("b", "v1.36.3", "n[1:2]")})
	r, _ := s.run(s.options())
	s.requireOutcome(r, report.Deployed)
	s.calls()
	return s
}

// TestRollbackOfTheNamedUpgradeOnly: a rollback was interrupted, and a person has completed it, so
// that the newest upgrade is now the one before. The next run means the upgrade that the state
// names, whether it has a record to resume or not.
func TestRollbackOfTheNamedUpgradeOnly(t *testing.T) {
	for name, c := range map[string]struct {
		resume string // exit code
		want   []string
	}{
		"completed by a person": {"2", []string{"resume --yes @b", "rollback up2 --yes --step=rollback --step=up2 --step=up1 --step=--yes @b", "verify @a"}},
		"resumed":               {"0", []string{"resume --yes @b", "verify @a"}},
	} {
		t.Run(name, func(t *testing.T) {
			s := upgradedSite(t)
			s.write(filepath.Join(s.fake, "upgrade"), "up2\nup1\n")
			s.write(filepath.Join(s.fake, "fail rollback @b"), "130")
			s.requireOutcome(s.rollback("inventory.yaml", ""), report.Interrupted)
			s.requireCalls("rollback up2 --yes --step=rollback --step=up2 --step=up1 --step=--yes @b")
			if state := s.git("cat-file", "blob", "refs/deployer/state/inventory.yaml"); !strings.Contains(state, `"up2"`) {
				t.Errorf("the state does not name the upgrade: %s", state)
			}
			s.write(filepath.Join(s.fake, "upgrade"), "up0\n")
			s.write(filepath.Join(s.fake, "fail resume"), c.resume)
			if err := os.Remove(filepath.Join(s.fake, "fail rollback @b")); err != nil {
				t.Fatal(err)
			}
			s.requireOutcome(s.rollback("inventory.yaml", ""), report.RolledBack)
			s.requireCalls(c.want...)
			if state := s.git("cat-file", "blob", "refs/deployer/state/inventory.yaml"); strings.Contains(state, "up2") {
				t.Errorf("the state of a verified cluster: %s", state)
			}
		})
	}
}

// TestInterruptedRollbackIsContinued: the rollback of a verified cluster, to the revision before,
// is continued by the next one, with a name and without. It does not lead forward again.
func TestInterruptedRollbackIsContinued(t *testing.T) {
	for _, inventory := range []string{"inventory.yaml", ""} {
		s := deployed(t, nil)
		s.commit(map[string]string{"inventory.yaml": inventoryOf("b", "v1.35.4", "n[1:3]")})
		r, _ := s.run(s.options())
		s.requireOutcome(r, report.Deployed)
		s.calls()
		s.write(filepath.Join(s.fake, "fail scale-down @b"), "130")
		s.write(filepath.Join(s.fake, "once"), "")
		s.requireOutcome(s.rollback("inventory.yaml", ""), report.Interrupted)
		s.requireCalls("scale-down --yes n3 @b")
		s.requireOutcome(s.rollback(inventory, ""), report.RolledBack)
		s.requireCalls("resume --yes @b", "scale-down --yes n3 @b", "verify @a")
	}
}

// TestUpgradeOfARollbackIsARun: what is not the id of a run does not become a word of a command
// line.
func TestUpgradeOfARollbackIsARun(t *testing.T) {
	for _, printed := range []string{"", "--force\n", "up1 ../x\n"} {
		s := upgradedSite(t)
		s.write(filepath.Join(s.fake, "upgrade"), printed)
		r := s.rollback("inventory.yaml", "")
		s.requireOutcome(r, report.Failed)
		if !strings.Contains(r.Stages[0].Message, "finding the upgrade to roll back") {
			t.Errorf("%q: %s", printed, r.Stages[0].Message)
		}
		s.requireCalls()
	}
}
