//go:build lab

package networks

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

// summary counts scenarios and pings between pods.
type summary struct {
	mu                sync.Mutex
	scenarios, passed int
	pings, lost       int
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

// pinged counts pings.
func (s *summary) pinged(sent, lost int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.pings, s.lost = s.pings+sent, s.lost+lost
	figures.Record(figures.Pings, float64(sent))
	figures.Record(figures.Lost, float64(lost))
}

func (s *summary) String() string {
	return fmt.Sprintf("networks scenarios=%d passed=%d pings=%d lost=%d", s.scenarios, s.passed, s.pings, s.lost)
}

func TestMain(m *testing.M) {
	harness.SweepLabs()
	code := m.Run()
	fmt.Println(&total)
	os.Exit(code)
}
