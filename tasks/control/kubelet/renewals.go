package kubelet

import (
	"fmt"
	"time"
)

// settle is the required lifetime of a process when the API cannot confirm renewals of
// the lease. The components that end a failing kubelet at its start
// (container manager, eviction manager, its servers) do so within 5 s (kubernetes
// pkg/kubelet, Kubelet.Run and initializeRuntimeDependentModules).
const settle = 15 * time.Second

// wantedRenewals is the required number of renewals by one process. The first one comes
// right after the start, the second an interval later.
const wantedRenewals = 2

// renewals counts the renewals of one kubelet process.
type renewals struct {
	process process // under test; zero before the first observation
	last    time.Time
	count   int
}

// follow sets the process under test. follow fails with an *endedError when p is another
// process, and with another error when the unit has no process.
func (r *renewals) follow(p process) error {
	same := p.up() && p.PID == r.process.PID && p.Invocation == r.process.Invocation && p.Restarts == r.process.Restarts
	switch {
	case r.process.PID != 0 && !same:
		return &endedError{before: r.process, now: p}
	case !p.up():
		return fmt.Errorf("%s is %s", p.Unit, p.state())
	}
	r.process = p
	return nil
}

// observe counts the renewals by the process under test. observe returns true when the
// process has renewed the lease twice, or once so late after its start that it must have
// renewed it before.
func (r *renewals) observe(l lease) bool {
	if !l.renewed.After(r.process.Started) {
		return false
	}
	if l.renewed.After(r.last) {
		r.last = l.renewed
		r.count++
	}
	// 5 %, because the jitter of the interval is 4 %.
	return r.count >= wantedRenewals || l.renewed.Sub(r.process.Started) >= wantedRenewals*l.interval()*105/100
}

// endedError is the error when the process under test has ended.
type endedError struct{ before, now process }

func (e *endedError) Error() string {
	text := fmt.Sprintf("process %d ended", e.before.PID)
	if !e.now.up() {
		return text + fmt.Sprintf(" %s after its start, and %s is %s", tenths(e.now.Now.Sub(e.before.Started)), e.now.Unit, e.now.state())
	}
	return text + fmt.Sprintf(" within %s, and systemd has started process %d", tenths(e.now.Started.Sub(e.before.Started)), e.now.PID)
}

func tenths(d time.Duration) time.Duration { return d.Round(100 * time.Millisecond) }
