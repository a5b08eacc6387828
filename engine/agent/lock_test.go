package agent

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"deployer/engine"
	"deployer/engine/agent/agenttest"
	"deployer/engine/lock"
)

// holds checks that another run which asks for the lock learns that want holds it.
func holds(t *testing.T, s *testHost, want lock.Holder) {
	t.Helper()
	err := s.Lock(t.Context(), lock.Holder{Run: "other"})
	var held *lock.Held
	if !errors.As(err, &held) || held.By != want || held.Host != "m1" {
		t.Errorf("%v, want a lock held by %v", err, want)
	}
}

// TestRunLock: only one run at a time holds the lock of a host. Other runs learn the
// holder's name. The lock is released on request or when the holder's agent ends.
func TestRunLock(t *testing.T) {
	first := newTestHost(t, nil)
	second := newBenchAt(t, first.root, nil)
	ann := lock.Holder{Run: "r1", Verb: "install", By: "ann@ci", PID: 7, Since: time.Date(2026, 3, 4, 2, 13, 0, 0, time.UTC)}
	for range 2 { // asking again does no harm
		if err := first.Lock(t.Context(), ann); err != nil {
			t.Fatal(err)
		}
	}
	holds(t, second, ann)
	if err := first.Unlock(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := second.Lock(t.Context(), lock.Holder{Run: "r2"}); err != nil {
		t.Fatal(err)
	}
	if err := first.Unlock(t.Context()); err != nil { // the session does not hold the lock
		t.Fatal(err)
	}
	holds(t, first, lock.Holder{Run: "r2"})
	_ = second.Close()
	<-second.served
	if err := first.Lock(t.Context(), ann); err != nil {
		t.Errorf("after the end of its agent: %v", err)
	}
}

// TestHandlersOfALostController: a step that ends after the next controller has said
// hello may still notify a handler; the granted lock names it.
func TestHandlersOfALostController(t *testing.T) {
	first := newTestHost(t, nil)
	second := newBenchAt(t, first.root, nil)
	if err := first.Lock(t.Context(), lock.Holder{Run: "r1"}); err != nil {
		t.Fatal(err)
	}
	step := agenttest.Step(t, "a", "write", agenttest.Write{Path: first.root + "/x", Content: "new"})
	step.Notifies = []string{"reload"}
	if err := first.Run(t.Context(), engine.Segment{Run: "r1", Steps: []engine.Step{step}}, func(engine.Result) {}); err != nil {
		t.Fatal(err)
	}
	_ = first.Close()
	<-first.served
	if got := second.PendingHandlers(); len(got) > 0 {
		t.Fatalf("before it has the lock: %v", got)
	}
	if err := second.Lock(t.Context(), lock.Holder{Run: "r2"}); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"reload"}, second.PendingHandlers()); diff != "" {
		t.Error(diff)
	}
}

// TestLockOfALostController: the agent of a lost controller keeps the lock while it
// finishes its step, marks it as draining, and then releases it.
func TestLockOfALostController(t *testing.T) {
	first := newTestHost(t, nil)
	second := newBenchAt(t, first.root, nil)
	if err := first.Lock(t.Context(), lock.Holder{Run: "r1"}); err != nil {
		t.Fatal(err)
	}
	first.events.Seen = make(chan engine.Event, 10)
	go func() {
		_ = first.Run(context.Background(), engine.Segment{Run: "r1", Steps: []engine.Step{
			agenttest.Step(t, "a", "odd", agenttest.Odd{Do: "wait", For: 300 * time.Millisecond})}}, func(engine.Result) {})
	}()
	for e := range first.events.Seen {
		if e.Type == engine.EventStepText {
			break
		}
	}
	_ = first.line.Close()
	left := lock.Holder{Run: "r1", Draining: true}
	for deadline := time.Now().Add(5 * time.Second); ; time.Sleep(5 * time.Millisecond) {
		var held *lock.Held
		err := second.Lock(t.Context(), lock.Holder{Run: "r2"})
		if errors.As(err, &held) && held.By == left {
			break
		}
		if err == nil || time.Now().After(deadline) {
			t.Fatalf("%v, want a lock whose holder is leaving", err)
		}
	}
	<-first.served
	if err := second.Lock(t.Context(), lock.Holder{Run: "r2"}); err != nil {
		t.Errorf("after the step: %v", err)
	}
}
