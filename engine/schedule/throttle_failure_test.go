package schedule

import (
	"context"
	"errors"
	"runtime"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"deployer/engine"
)

// TestThrottleAdmitsAfterTheFailureCounts: a host fails in a throttle while another
// one waits for its turn. When the failure exceeds the budget, the waiting host never
// begins.
func TestThrottleAdmitsAfterTheFailureCounts(t *testing.T) {
	t.Parallel()
	const block = `{throttle: 1, block: [{name: x, do: {}}]}`
	for name, c := range map[string]struct {
		play          string
		outcome       string // outcome of x on the first host; default fail
		first, second []string
		ends          bool // the run completes
	}{
		"block":               {play: `tasks: [{throttle: 1, block: [{name: open, act: {name: open}}, {name: x, do: {}}]}]`, first: []string{"open", "x", "cleanup"}},
		"lost host":           {play: `tasks: [{throttle: 1, block: [{name: open, act: {name: open}}, {name: x, do: {}}]}]`, outcome: "lose", first: []string{"open", "x", "cleanup"}},
		"task":                {play: `tasks: [{name: x, do: {}, throttle: 1}]`, first: []string{"x"}},
		"blocks in blocks":    {play: `tasks: [{throttle: 1, block: [` + block + `]}]`, first: []string{"x"}},
		"always part":         {play: `tasks: [{throttle: 1, block: [{name: x, do: {}}], always: [{name: a, do: {}}]}]`, first: []string{"x", "a"}},
		"always part around":  {play: `tasks: [{block: [` + block + `], always: [{name: a, do: {}}, {name: b, act: {name: b}}]}]`, first: []string{"x", "a", "b"}},
		"barrier in it":       {play: `tasks: [{block: [` + block + `], always: [{name: a, do: {}, barrier: true}]}]`, first: []string{"x", "a"}},
		"always around task":  {play: `tasks: [{block: [{name: x, do: {}, throttle: 1}], always: [{name: a, do: {}}]}]`, first: []string{"x", "a"}},
		"handlers":            {play: `tasks: [{throttle: 1, block: [{name: n, do: {do: change}, notify: h}, {name: x, do: {}}]}], force_handlers: true, handlers: [{name: h, do: {}}]`, first: []string{"n", "x", "h"}},
		"rescue part":         {play: `tasks: [{throttle: 1, block: [{name: x, do: {}}], rescue: [{name: r, do: {}}]}]`, first: []string{"x", "r"}, second: []string{"x"}, ends: true},
		"rescue part around":  {play: `tasks: [{block: [` + block + `], rescue: [{name: r, do: {}, barrier: true}]}]`, first: []string{"x", "r"}, second: []string{"x"}, ends: true},
		"rescue around task":  {play: `tasks: [{block: [{name: x, do: {}, throttle: 1}], rescue: [{name: r, do: {}, barrier: true}]}]`, first: []string{"x", "r"}, second: []string{"x"}, ends: true},
		"rescue around parts": {play: `tasks: [{block: [{block: [` + block + `], always: [{name: a, do: {}, barrier: true}]}], rescue: [{name: r, do: {}}]}]`, first: []string{"x", "a", "r"}, second: []string{"x", "a"}, ends: true},
		"ignored failure":     {play: `tasks: [{name: x, do: {}, throttle: 1, ignore_errors: true}]`, first: []string{"x"}, second: []string{"x"}, ends: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, log := twoHostsInThrottle(c.outcome)
			s.inv.groups = map[string][]string{"master": s.inv.hosts, "etcd": nil}
			report := s.run(t, t.Context(), "- {hosts: all, "+c.play+"}\n")
			if got := report.Aborted == ""; got != c.ends {
				t.Errorf("aborted: %q", report.Aborted)
			}
			if want := `too many hosts of "master" failed: 1 of 2 (` + log.first + `), allowed are 0`; !c.ends && !strings.HasPrefix(report.Aborted, want) {
				t.Errorf("aborted: %q, want %q", report.Aborted, want)
			}
			first, second := log.split()
			if diff := cmp.Diff(c.first, first); diff != "" {
				t.Errorf("of the first host: %s", diff)
			}
			if diff := cmp.Diff(c.second, second); diff != "" {
				t.Errorf("of the second host: %s", diff)
			}
		})
	}
}

// TestThrottleAdmitsAfterTheCleanup: within the budget, the next host begins after the
// cleanup of the failed one, such as the end of its cordon.
func TestThrottleAdmitsAfterTheCleanup(t *testing.T) {
	t.Parallel()
	for name, outcome := range map[string]string{"failed": "fail", "lost": "lose"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, log := twoHostsInThrottle(outcome)
			report := s.run(t, t.Context(), `
- hosts: all
  tasks:
    - throttle: 1
      block: [{name: open, act: {name: open}}, {name: x, do: {}}, {name: close, act: {name: close}}]
`)
			other := map[string]string{"h1": "h2", "h2": "h1"}[log.first]
			var want []string
			for _, line := range []string{"open", "x", "cleanup"} {
				want = append(want, log.first+" "+line)
			}
			for _, line := range []string{"open", "x", "close"} {
				want = append(want, other+" "+line)
			}
			if diff := cmp.Diff(want, log.lines); diff != "" {
				t.Error(diff)
			}
			if report.Aborted != "" || len(report.Broken()) != 1 {
				t.Errorf("aborted: %q\n%s", report.Aborted, summary(report))
			}
		})
	}
}

// throttleLog has the steps of two hosts; first is the host whose step x came first.
type throttleLog struct {
	mu    sync.Mutex
	first string
	lines []string
}

func (l *throttleLog) note(host, what string) (isFirst bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.lines = append(l.lines, host+" "+what)
	if l.first == "" && what == "x" {
		l.first = host
		return true
	}
	return false
}

// split returns the lines of the first host and those of the other one.
func (l *throttleLog) split() (first, second []string) {
	for _, line := range l.lines {
		if host, what, _ := strings.Cut(line, " "); host == l.first {
			first = append(first, what)
		} else {
			second = append(second, what)
		}
	}
	return first, second
}

// twoHostsInThrottle returns a scenario with two hosts: the first one has the given
// outcome at step x while the other one waits for its turn. Action open registers a
// cleanup, close cancels it.
func twoHostsInThrottle(outcome string) (*scenario, *throttleLog) {
	s, log := of(2), &throttleLog{}
	waiting := make(chan struct{})
	s.fleet.connect = func(_ string, try int) error {
		if try > 1 {
			return errors.New("no route to host")
		}
		return nil
	}
	s.fleet.onStep = func(host string, st engine.Step, _ doArgs) string {
		if !log.note(host, st.Name) {
			letOthersRun()
			return ""
		}
		<-waiting
		if outcome == "" {
			return "fail"
		}
		return outcome
	}
	s.fleet.action = func(_ context.Context, name string, _ map[string]any, actx engine.ActionContext) (engine.Output, error) {
		log.note(actx.Host(), name)
		cleanups, _ := engine.Service[*engine.Cleanups](actx.Services())
		switch name {
		case "open":
			cleanups.Register(actx.Host(), engine.Cleanup{Name: actx.Host(), Run: func(context.Context) (string, string) {
				letOthersRun()
				log.note(actx.Host(), "cleanup")
				return "closed", ""
			}})
		case "close":
			cleanups.Cancel(actx.Host())
		}
		return nil, nil
	}
	var once sync.Once
	s.opts = func(o *Options) {
		o.Sink = sinkFunc(func(e engine.Event) {
			s.fleet.Emit(e)
			if e.Type == engine.EventWait && strings.HasPrefix(e.Text, "its turn") {
				once.Do(func() { close(waiting) })
			}
			if e.Type == engine.EventHostParked {
				letOthersRun()
			}
		})
	}
	return s, log
}

// letOthersRun yields the processor, so that a host that was admitted too early begins.
func letOthersRun() {
	for range 1000 {
		runtime.Gosched()
	}
}
