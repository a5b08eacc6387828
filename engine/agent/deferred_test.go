package agent

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"deployer/engine"
	"deployer/engine/agent/agenttest"
	"deployer/engine/agent/statedir"
)

// postpone is a module that defers work to the end of its segment and logs a word.
type postpone struct{ Kind, Text string }

func (*postpone) Check(context.Context, engine.System) (engine.Change, error) {
	return engine.Changed(), nil
}

func (p *postpone) Apply(_ context.Context, sys engine.System, _ engine.Change) (engine.Output, error) {
	if err := sys.(engine.Deferrer).Defer(p.Kind); err != nil {
		return nil, err
	}
	return nil, tell(sys, p.Text)
}

// postponed is the deferred work. It fails while the file /in-its-way exists.
func postponed(_ context.Context, sys engine.System) error {
	if _, err := os.Stat(sys.Path("/in-its-way")); err == nil {
		return errors.New("something is in its way")
	}
	return tell(sys, "end")
}

// tell appends a word to the log file of the host.
func tell(sys engine.System, word string) error {
	f, err := os.OpenFile(sys.Path("/story"), os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	_, err = f.WriteString(word + " ")
	return errors.Join(err, f.Close())
}

// story returns the words that were logged on the host since the last call.
func story(t *testing.T, root string) string {
	t.Helper()
	path := filepath.Join(root, "story")
	text, _ := os.ReadFile(path)
	_ = os.Remove(path)
	return strings.TrimSpace(string(text))
}

// TestDeferredWork: deferred work of steps is done once at the end of their segment, in
// whatever way the segment ends.
func TestDeferredWork(t *testing.T) {
	t.Parallel()
	b := newTestHost(t, nil)
	later := func(id, text string) engine.Step {
		return agenttest.Step(t, id, "postpone", postpone{"postpone", text})
	}
	see := func(want string) {
		t.Helper()
		if diff := cmp.Diff(want, story(t, b.root)); diff != "" {
			t.Fatal(diff)
		}
	}
	b.run(t, later("a", "one"), later("b", "two"))
	see("one two end")
	b.run(t, agenttest.Step(t, "a", "odd", agenttest.Odd{Do: "nothing"}))
	see("")
	b.run(t, later("a", "one"), agenttest.Step(t, "b", "odd", agenttest.Odd{Do: "fail"}), later("c", "two"))
	see("one end")

	if err := os.WriteFile(filepath.Join(b.root, "in-its-way"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	err := b.Run(t.Context(), engine.Segment{Run: "r1", Steps: []engine.Step{later("a", "one")}}, func(engine.Result) {})
	if err == nil || !strings.Contains(err.Error(), "m1: deferred work of postpone: something is in its way") {
		t.Errorf("%v", err)
	}
	see("one")
	if err := os.Remove(filepath.Join(b.root, "in-its-way")); err != nil {
		t.Fatal(err)
	}
	_ = b.Close() // as when the agent has died; the next agent does the work, except in a check
	b = newBenchAt(t, b.root, nil)
	only := []engine.Step{agenttest.Step(t, "a", "odd", agenttest.Odd{Do: "nothing"})}
	if err := b.Run(t.Context(), engine.Segment{Run: "r2", Steps: only, CheckOnly: true}, func(engine.Result) {}); err != nil {
		t.Fatal(err)
	}
	see("")
	b.run(t, only...)
	see("end")
	b.run(t, only...)
	see("")
	want(t, b.run(t, agenttest.Step(t, "a", "postpone", postpone{"write", "one"})), "a=failed")
}

// TestDeferredWorkOfAnotherVersion: deferred work of a kind that this agent does not
// know stays for the version that left it.
func TestDeferredWorkOfAnotherVersion(t *testing.T) {
	t.Parallel()
	b := newTestHost(t, nil)
	s := statedir.Open(b.root + DefaultStateDir)
	if err := s.DeferWork("of_tomorrow"); err != nil {
		t.Fatal(err)
	}
	b.run(t, agenttest.Step(t, "a", "odd", agenttest.Odd{Do: "nothing"}))
	if kinds, err := s.DeferredWork(); err != nil || !slices.Equal(kinds, []string{"of_tomorrow"}) {
		t.Errorf("%q, %v", kinds, err)
	}
}
