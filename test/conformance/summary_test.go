//go:build lab

package conformance

import (
	"fmt"
	"os"
	"sync"
	"testing"

	"deployer/test/figures"
	"deployer/test/harness"
)

// total is what all scenarios of a run have found.
var total summary

// summary counts scenarios and conformance tests.
type summary struct {
	mu                sync.Mutex
	scenarios, passed int
	tests, failed     int
}

// scenario counts a test, when it ends.
func scenario(t *testing.T) {
	t.Helper()
	figures.Scenario(t)
	t.Cleanup(func() {
		total.mu.Lock()
		defer total.mu.Unlock()
		total.scenarios++
		if !t.Failed() {
			total.passed++
		}
	})
}

// ran counts conformance tests.
func (s *summary) ran(tests, failed int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.tests, s.failed = s.tests+tests, s.failed+failed
	figures.Record(figures.Conformance, float64(tests))
	figures.Record(figures.NonConforming, float64(failed))
}

func (s *summary) String() string {
	return fmt.Sprintf("conformance scenarios=%d passed=%d tests=%d failed=%d", s.scenarios, s.passed, s.tests, s.failed)
}

func TestMain(m *testing.M) {
	harness.SweepLabs()
	code := m.Run()
	fmt.Println(&total)
	os.Exit(code)
}
