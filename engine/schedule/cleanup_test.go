package schedule

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"deployer/engine"
	"deployer/engine/session"
)

// TestCleanups: cleanups run when their host leaves the run before its end, and only then.
func TestCleanups(t *testing.T) {
	t.Parallel()
	const play = `
- hosts: all
  tasks:
    - {name: open, act: {name: open}}
    - {name: work, do: {}}
    - {name: close, act: {name: close}, when: closes}
`
	for name, c := range map[string]struct {
		fate   string // of the step work
		closes bool
		check  bool
		stop   bool
		stays  bool // the cleanup fails
		kept   bool
	}{
		"host completes, cleanup was cancelled": {closes: true},
		"host completes, cleanup is registered": {},
		"step fails":                            {fate: "fail", closes: true, kept: true},
		"host is lost":                          {fate: "lose", closes: true, kept: true},
		"cleanup fails":                         {fate: "fail", closes: true, kept: true, stays: true},
		"run is interrupted":                    {stop: true, closes: true, kept: true},
		"check mode":                            {fate: "fail", check: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := of(2)
			interrupt := make(chan struct{})
			kept := make(chan string, 4)
			s.fleet.onStep = func(host string, _ engine.Step, _ doArgs) string {
				if host == "h2" {
					return ""
				}
				if c.stop {
					close(interrupt)
					time.Sleep(200 * time.Millisecond) // time for the run to handle the interrupt
				}
				return c.fate
			}
			s.fleet.action = func(_ context.Context, name string, _ map[string]any, actx engine.ActionContext) (engine.Output, error) {
				cleanups, _ := engine.Service[*engine.Cleanups](actx.Services())
				if name == "close" {
					cleanups.Cancel(actx.Host())
					return nil, nil
				}
				cleanups.Register(actx.Host(), engine.Cleanup{Name: actx.Host(), Run: func(ctx context.Context) (string, string) {
					if ctx.Err() != nil {
						t.Error("there is no time for the cleanup")
					}
					kept <- actx.Host()
					if c.stays {
						return "", "node " + actx.Host() + " is left cordoned"
					}
					return "closed", ""
				}})
				return nil, nil
			}
			s.opts = func(o *Options) {
				o.Interrupt, o.CheckOnly = interrupt, c.check
				o.Extra = map[string]any{"closes": c.closes}
				o.Retry = session.Retry{Initial: time.Millisecond, Max: time.Millisecond, Attempts: 2, Reattempts: 2}
			}
			report := s.run(t, t.Context(), play)
			close(kept)
			var hosts []string
			for h := range kept {
				hosts = append(hosts, h)
			}
			if got := slices.Contains(hosts, "h1"); got != c.kept {
				t.Errorf("kept for %q\n%s", hosts, summary(report))
			}
			if !c.stop && slices.Contains(hosts, "h2") {
				t.Error("kept for a host that came to its end")
			}
			if got := strings.Join(report.LeftOpen, "\n"); (got != "") != c.stays || c.stays && got != "node h1 is left cordoned" {
				t.Errorf("left: %q", got)
			}
		})
	}
}

// TestCancellableAction: an interrupt ends a cancellable action at once; other actions that
// change something run to their end.
func TestCancellableAction(t *testing.T) {
	t.Parallel()
	s := of(1)
	interrupt := make(chan struct{})
	undone := false
	s.fleet.action = func(ctx context.Context, _ string, _ map[string]any, _ engine.ActionContext) (engine.Output, error) {
		close(interrupt)
		select {
		case <-ctx.Done():
			undone = true
			return nil, context.Cause(ctx)
		case <-time.After(10 * time.Second):
			return nil, nil
		}
	}
	s.opts = func(o *Options) { o.Interrupt = interrupt }
	report := s.run(t, t.Context(), "- hosts: all\n  tasks: [{name: drain, act: {yield: true}}, {name: after, do: {}}]\n")
	if h := report.Hosts[0]; !undone || !report.Interrupted || !h.Cancelled || h.Failure != nil || h.Changed != 0 {
		t.Errorf("undone: %v, %+v", undone, report)
	}
}

// TestActionsDialHostsOutsideThePlays: such as masters, when a play is for minions.
func TestActionsDialHostsOutsideThePlays(t *testing.T) {
	t.Parallel()
	s := of(2)
	s.fleet.action = func(ctx context.Context, _ string, _ map[string]any, actx engine.ActionContext) (engine.Output, error) {
		for range 2 {
			if _, err := actx.RunOn(ctx, "h2", "do", &doArgs{Do: "ok"}); err != nil {
				return nil, err
			}
		}
		_, err := actx.RunOn(ctx, "nobody", "do", &doArgs{Do: "ok"})
		if err == nil {
			t.Error("a host that is not there answers")
		}
		return nil, nil
	}
	s.fleet.connect = func(host string, _ int) error {
		if host == "nobody" {
			return context.DeadlineExceeded
		}
		return nil
	}
	report := s.run(t, t.Context(), "- hosts: h1\n  tasks: [{name: ask, act: {}}]\n")
	if len(report.Broken()) > 0 || len(report.Hosts) != 1 {
		t.Error(summary(report))
	}
	if s.fleet.opened != s.fleet.closed {
		t.Errorf("%d sessions opened, %d closed", s.fleet.opened, s.fleet.closed)
	}
}
