package main

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"deployer/engine"
)

// script builds events by seconds after the start.
type script []engine.Event

func at(s float64) time.Time { return time.Unix(1000, 0).Add(time.Duration(s * float64(time.Second))) }

func (s *script) done(when float64, host, role, step string) {
	*s = append(*s, engine.Event{Time: at(when), Type: engine.EventStepEnd, Host: host, Role: role, Name: step, Result: &engine.Result{Status: engine.StatusChanged}})
}

func (s *script) waits(when float64, host, what string) {
	*s = append(*s, engine.Event{Time: at(when), Type: engine.EventWait, Host: host, Text: what})
}

// twoHosts is a master that takes seven seconds, and a minion that waits for it.
func twoHosts() script {
	var s script
	s = append(s, engine.Event{Time: at(1), Type: engine.EventHostUp, Host: "m1"}, engine.Event{Time: at(1), Type: engine.EventHostUp, Host: "n1"})
	s.done(2, "n1", "kubelet", "kubelet runs")
	s.waits(2, "n1", `label "apiserver-ready": m1`)
	s.done(3, "m1", "etcd", "etcd runs")
	s.done(7, "m1", "control-plane", "API server runs")
	s.waits(7.5, "n1", "")
	s.done(8, "m1", "kube-proxy", "kube-proxy runs")
	s.done(9, "n1", "node-ready", "node is Ready")
	skipped := engine.Event{Time: at(9.5), Type: engine.EventStepEnd, Host: "m1", Result: &engine.Result{Status: engine.StatusSkipped}}
	return append(s, skipped)
}

func TestSlowestHostEndsLastAndSkippedStepsDoNotCount(t *testing.T) {
	if got := slowest(twoHosts()); got != "n1" {
		t.Errorf("slowest is %q, want n1", got)
	}
}

func TestSpansCoverTheWholeTime(t *testing.T) {
	got := totals(spans(twoHosts(), "n1", at(0), at(10)), func(s span) string { return s.what })
	want := []total{
		{"connect, send the agent", time.Second},
		{"kubelet", time.Second},
		{`wait: label "apiserver-ready": m1`, 5500 * time.Millisecond},
		{"node-ready", 1500 * time.Millisecond},
		{"end of the run", time.Second},
	}
	if diff := cmp.Diff(want, got, cmp.AllowUnexported(total{})); diff != "" {
		t.Error(diff)
	}
}

func TestCriticalPathGoesOverToTheHostThatWasWaitedFor(t *testing.T) {
	path := criticalPath(twoHosts(), at(0), at(10))
	got := totals(path, func(s span) string { return s.host + " " + s.what })
	want := []total{
		{"m1 connect, send the agent", time.Second},
		{"m1 etcd", 2 * time.Second},
		{"m1 control-plane", 4 * time.Second},
		{`n1 wait: label "apiserver-ready": m1`, 500 * time.Millisecond},
		{"n1 node-ready", 1500 * time.Millisecond},
		{"n1 end of the run", time.Second},
	}
	if diff := cmp.Diff(want, got, cmp.AllowUnexported(total{})); diff != "" {
		t.Error(diff)
	}
	for i := range path[1:] {
		if !path[i].end.Equal(path[i+1].begin) {
			t.Errorf("a gap between %v and %v", path[i], path[i+1])
		}
	}
}

// TestCriticalPathEndsWhenHostsWaitForEachOther: for two hosts that wait for each
// other's last step the walk ends, and the path covers the whole time.
func TestCriticalPathEndsWhenHostsWaitForEachOther(t *testing.T) {
	var s script
	s.done(1, "a", "r", "first")
	s.waits(1, "a", "the barrier: b")
	s.done(2, "b", "r", "second")
	s.waits(2, "b", "the barrier: a")
	s.waits(3, "a", "")
	s.waits(3, "b", "")
	s.done(4, "a", "r", "third")
	s.done(4, "b", "r", "third")
	var sum time.Duration
	for _, p := range criticalPath(s, at(0), at(4)) {
		sum += p.took()
	}
	if sum != 4*time.Second {
		t.Errorf("the path covers %s of 4 s", sum)
	}
}

func TestAccountOfNothing(t *testing.T) {
	if lines := account(nil, at(0), at(1)); len(lines) != 1 {
		t.Errorf("want one line, got %q", lines)
	}
}
