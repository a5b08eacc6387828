//go:build lab

package e2e

import (
	"os"
	"testing"

	"deployer/test/harness"
	"deployer/test/lab/plan"
)

// TestMain removes labs of killed test processes.
func TestMain(m *testing.M) {
	harness.SweepLabs()
	os.Exit(m.Run())
}

// site is a lab with an inventory, and the deployer binary under test.
type site struct{ *harness.Site }

// newSite boots hosts for a scenario and removes them at its end.
func newSite(t *testing.T, spec plan.Spec) *site { return &site{harness.New(t, "e2e", spec)} }

// on returns the same site for a subtest.
func (s *site) on(t *testing.T) *site { return &site{s.On(t)} }

// otherController returns the same site for another controller, which has no logs of
// this one.
func (s *site) otherController() *site { return &site{s.OtherController()} }
