package kubelet

import (
	"fmt"
	"time"
)

// settle is how long a process must have lived where the API cannot say that it
// renews its lease. The kubelet has then gone through its start twice over: what
// ends it (container manager, eviction manager, its servers) comes within 5 s
// (kubernetes pkg/kubelet, Kubelet.Run and initializeRuntimeDependentModules).
const settle = 15 * time.Second

// wantedRenewals is how often the process under test must have renewed its lease.
// The first renewal comes right after the start, the second an interval later.
const wantedRenewals = 2

// renewals counts the renewals of one kubelet process.
type renewals struct {
	process process // the one under test; zero before the first observation
	last    time.Time
	count   int
}

// follow takes a process for the one under test, and fails when another one was
// under test before.
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

// observe counts what the lease says of the process under test. It reports true
// when the process has renewed the lease twice, or once so late after its start
// that it must have renewed it before.
func (r *renewals) observe(l lease) bool {
	if !l.renewed.After(r.process.Started) {
		return false
	}
	if l.renewed.After(r.last) {
		r.last = l.renewed
		r.count++
	}
	// 5 %: the jitter of the interval is 4 %.
	return r.count >= wantedRenewals || l.renewed.Sub(r.process.Started) >= wantedRenewals*l.interval()*105/100
}

// endedError says that the process under test is not there any more.
type endedError struct{ before, now process }

func (e *endedError) Error() string {
	text := fmt.Sprintf("process %d ended", e.before.PID)
	if !e.now.up() {
		return text + fmt.Sprintf(" %s after its start, and %s is %s", tenths(e.now.Now.Sub(e.before.Started)), e.now.Unit, e.now.state())
	}
	return text + fmt.Sprintf(" within %s, and systemd has started process %d", tenths(e.now.Started.Sub(e.before.Started)), e.now.PID)
}

func tenths(d time.Duration) time.Duration { return d.Round(100 * time.Millisecond) }
