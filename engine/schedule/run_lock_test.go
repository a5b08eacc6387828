package schedule

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"deployer/engine"
	"deployer/engine/lock"
	"deployer/engine/session"
)

// claiming makes a run of the scenario lock its hosts.
func claiming(s *scenario, id string, patience time.Duration, guards ...string) {
	s.opts = func(o *Options) {
		o.RunID = id
		o.Lock = &session.LockOptions{Holder: lock.Holder{Run: id, Verb: "run", By: "ann@ci", Since: time.Now()}, MaxWait: patience, Guards: guards, GuardsNoun: "masters"}
	}
}

const oneTask = `
- hosts: all
  tasks:
    - {name: work, do: {do: change}}
`

// TestConcurrentRuns: the second of two runs on the same hosts is refused, names the first
// run, and changes nothing. Steps end when one of the runs has ended, or when both work.
func TestConcurrentRuns(t *testing.T) {
	t.Parallel()
	a, b := of(5), of(5)
	b.fleet.locks = a.fleet.locks
	claiming(a, "a", 0)
	claiming(b, "b", 0)
	release := make(chan struct{})
	end := sync.OnceFunc(func() { close(release) })
	var aWorks, bWorks atomic.Bool
	hold := func(mine, other *atomic.Bool) func(string, engine.Step, doArgs) string {
		return func(string, engine.Step, doArgs) string {
			if mine.Store(true); other.Load() {
				end()
			}
			<-release
			return ""
		}
	}
	a.fleet.onStep, b.fleet.onStep = hold(&aWorks, &bWorks), hold(&bWorks, &aWorks)
	var won, lost *engine.Report
	var both sync.WaitGroup
	both.Go(func() { defer end(); won = a.run(t, t.Context(), oneTask) })
	both.Go(func() { defer end(); lost = b.run(t, t.Context(), oneTask) })
	both.Wait()
	if won.Aborted != "" {
		won, lost = lost, won
	}
	if won.Aborted != "" || won.Changed() != 5 {
		t.Errorf("no run went through: %q, %q", won.Aborted, lost.Aborted)
	}
	want := fmt.Sprintf("refused: run %s (run) by ann@ci holds the lock on h", won.Run)
	if !strings.HasPrefix(lost.Aborted, want) || lost.Changed() != 0 || len(lost.Broken()) != 0 {
		t.Errorf("the other one: %q, want %s...; %d changed, broken %v", lost.Aborted, want, lost.Changed(), lost.Broken())
	}
}

// TestLockMaxWait: a run that waits names the run that holds the lock, and does its work
// after that run. The first run works until the second one waits or has ended.
func TestLockMaxWait(t *testing.T) {
	t.Parallel()
	a, b := of(3), of(3)
	b.fleet.locks = a.fleet.locks
	claiming(a, "a", time.Minute)
	claiming(b, "b", time.Minute)
	working, release := make(chan struct{}), make(chan struct{})
	work, end := sync.OnceFunc(func() { close(working) }), sync.OnceFunc(func() { close(release) })
	a.fleet.onStep = func(string, engine.Step, doArgs) string {
		work()
		<-release
		return ""
	}
	var waited atomic.Bool
	lockB := b.opts
	b.opts = func(o *Options) {
		lockB(o)
		sink := o.Sink
		o.Sink = sinkFunc(func(e engine.Event) {
			sink.Emit(e)
			if e.Type == engine.EventWait && strings.HasPrefix(e.Text, "for the lock: run a ") {
				waited.Store(true)
				end()
			}
		})
	}
	var ra, rb *engine.Report
	var both sync.WaitGroup
	both.Go(func() { defer work(); ra = a.run(t, t.Context(), oneTask) })
	both.Go(func() { defer end(); <-working; rb = b.run(t, t.Context(), oneTask) })
	both.Wait()
	for _, r := range []*engine.Report{ra, rb} {
		if r.Aborted != "" || r.Changed() != 3 {
			t.Errorf("%q, %d changed", r.Aborted, r.Changed())
		}
	}
	if !waited.Load() {
		t.Error("the second run did not report which run it waits for")
	}
}

// TestLocksBeforeSegments: nothing is sent to a host before all other hosts that
// answer are locked; hosts that do not answer delay nobody, and are locked when they
// connect.
func TestLocksBeforeSegments(t *testing.T) {
	t.Parallel()
	s := of(4)
	claiming(s, "a", 0)
	s.fleet.connect = func(host string, try int) error {
		switch {
		case host == "h2" && try == 1:
			return flaky{"refused"}
		case host == "h3":
			time.Sleep(100 * time.Millisecond)
		}
		return nil
	}
	var mu sync.Mutex
	unlocked := []string{}
	s.fleet.onStep = func(host string, _ engine.Step, _ doArgs) string {
		s.fleet.locks.mu.Lock()
		defer s.fleet.locks.mu.Unlock()
		for _, h := range []string{host, "h1", "h3", "h4"} {
			if s.fleet.locks.byHost[h] == nil {
				mu.Lock()
				unlocked = append(unlocked, fmt.Sprintf("%s, when %s began", h, host))
				mu.Unlock()
			}
		}
		return ""
	}
	if r := s.run(t, t.Context(), oneTask); r.Changed() != 4 {
		t.Errorf("%s", summary(r))
	}
	if len(unlocked) > 0 {
		t.Errorf("not locked: %v", unlocked)
	}
}

// TestLockGuards: the masters are locked although no play names them; one of them may
// be down, and they are in no report.
func TestLockGuards(t *testing.T) {
	t.Parallel()
	for dead, want := range map[int]string{1: "", 2: "refused: more than half of the masters (h1, h2, h3) must be reached"} {
		s := of(5)
		claiming(s, "a", 0, "h1", "h2", "h3")
		s.fleet.connect = func(host string, _ int) error {
			if host <= fmt.Sprintf("h%d", dead) {
				return flaky{"no route"}
			}
			return nil
		}
		held := 0
		s.fleet.onStep = func(string, engine.Step, doArgs) string {
			s.fleet.locks.mu.Lock()
			defer s.fleet.locks.mu.Unlock()
			held = len(s.fleet.locks.byHost)
			return ""
		}
		r := s.run(t, t.Context(), strings.Replace(oneTask, "all", "h4,h5", 1))
		if !strings.HasPrefix(r.Aborted, want) || (r.Aborted == "") != (want == "") {
			t.Errorf("%d dead: %q", dead, r.Aborted)
		}
		if want == "" && (held != 4 || r.Changed() != 2 || len(r.Hosts) != 2) {
			t.Errorf("%d locked, %s", held, summary(r))
		}
	}
}

// TestLockAfterReconnect: a host that was lost during the run is locked again before
// it continues, and so is a guard.
func TestLockAfterReconnect(t *testing.T) {
	t.Parallel()
	s := of(2)
	claiming(s, "a", 0, "h2")
	lost := false
	s.fleet.onStep = func(_ string, _ engine.Step, _ doArgs) string {
		if !lost {
			lost = true
			s.fleet.locks.mu.Lock()
			guard := s.fleet.locks.byHost["h2"]
			s.fleet.locks.mu.Unlock()
			close(guard.lost)
			return "lose"
		}
		for range 200 { // the guard reconnects by itself
			s.fleet.locks.mu.Lock()
			both := len(s.fleet.locks.byHost) == 2 && s.fleet.tries["h2"] == 2
			s.fleet.locks.mu.Unlock()
			if both {
				return ""
			}
			time.Sleep(10 * time.Millisecond)
		}
		return "fail"
	}
	if r := s.run(t, t.Context(), strings.Replace(oneTask, "all", "h1", 1)); r.Changed() != 1 {
		t.Errorf("%s", summary(r))
	}
}

// TestLockHeldByOtherAfterReconnect: when another run took the lock of a host while it was
// lost, the run ends.
func TestLockHeldByOtherAfterReconnect(t *testing.T) {
	t.Parallel()
	s := of(2)
	claiming(s, "a", 0)
	s.fleet.onStep = func(host string, _ engine.Step, _ doArgs) string {
		if host == "h2" {
			return ""
		}
		s.fleet.locks.mu.Lock()
		defer s.fleet.locks.mu.Unlock()
		s.fleet.locks.byHost["h1"] = &fakeHost{}
		s.fleet.locks.holder["h1"] = lock.Holder{Run: "other", Verb: "run", By: "bob@ci"}
		return "lose"
	}
	r := s.run(t, context.Background(), oneTask)
	if !strings.HasPrefix(r.Aborted, "refused: run other (run) by bob@ci holds the lock on h1") {
		t.Errorf("%q", r.Aborted)
	}
}
