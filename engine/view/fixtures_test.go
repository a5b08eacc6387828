package view

import (
	"flag"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"deployer/engine"
)

var update = flag.Bool("update", false, "rewrite the golden files; read the diff before you believe it")

func golden(t *testing.T, name, got string) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("%s (-want +got; go test ./engine/view -update rewrites it):\n%s", path, diff)
	}
}

// start returns the start time of the runs in these tests.
func start() time.Time { return time.Date(2026, 3, 4, 5, 6, 7, 0, time.UTC) }

// clockwork is a clock that shows the time of the last event.
type clockwork struct{ at time.Time }

func (c *clockwork) now() time.Time { return c.at }

// at returns an event with a time after the start of the run.
func at(after time.Duration, e engine.Event) engine.Event {
	e.Time = start().Add(after)
	return e
}

func begins(after time.Duration, host, role, name string) engine.Event {
	return at(after, engine.Event{Type: engine.EventStepStart, Host: host, Step: "1." + role + ".1", Role: role, Name: name})
}

func ends(after time.Duration, host, role, name string, r engine.Result) engine.Event {
	r.Host, r.Step, r.Name, r.Started = host, "1."+role+".1", name, start()
	return at(after, engine.Event{Type: engine.EventStepEnd, Host: host, Step: r.Step, Role: role, Name: name, Result: &r})
}

func hosts() []string { return []string{"m1", "m2", "minion-01"} }

// story returns the events of a run in which every kind of event happens.
func story() []engine.Event {
	const s = time.Second
	diff := "--- /etc/etcd.conf\n+++ /etc/etcd.conf\n@@ -1 +1 @@\n-a: 1\n+a: 2\n"
	file := engine.Effect{Kind: engine.EffectFile, Target: "/etc/etcd.conf", Action: "replace", Diff: diff}
	key := engine.Effect{Kind: engine.EffectFile, Target: "/etc/kubernetes/pki/ca.key", Action: "create", Secret: true}
	return []engine.Event{
		at(0, engine.Event{Type: engine.EventRunStart, Name: "install", Text: "20260304-050607.000"}),
		at(s/2, engine.Event{Type: engine.EventHostUp, Host: "m1", Text: "debian 12, amd64"}),
		at(s/2, engine.Event{Type: engine.EventHostUp, Host: "m2", Text: "debian 12, amd64"}),
		at(s, engine.Event{Type: engine.EventHostRetry, Host: "minion-01", Text: "connection refused; trying again in 1s (2 of 4)"}),
		at(s, engine.Event{Type: engine.EventPlayStart, Name: "etcd"}),
		begins(s, "m1", "etcd", "etcd configuration"),
		ends(1100*time.Millisecond, "m1", "etcd", "etcd configuration", engine.Result{Status: engine.StatusChanged, Elapsed: 90 * time.Millisecond, Change: &engine.Change{Needed: true, Effects: []engine.Effect{file, key}}}),
		ends(1200*time.Millisecond, "m1", "etcd", "data directory", engine.Result{Status: engine.StatusOK}),
		ends(1300*time.Millisecond, "m1", "etcd", "add this host", engine.Result{Status: engine.StatusSkipped, Reason: `etcd_plan.action == "join"`}),
		begins(2*s, "m2", "etcd", "etcd binaries"),
		at(3*s, engine.Event{Type: engine.EventTransfer, Host: "m2", Name: "abc", Bytes: 12_000_000, Total: 24_000_000}),
		at(4*s, engine.Event{Type: engine.EventWait, Host: "m1", Text: "etcd-healthy: 1 of 2 hosts have passed it"}),
		at(5*s, engine.Event{Type: engine.EventHostParked, Host: "minion-01", Text: "connecting: connection refused\nmore"}),
		at(16*s, engine.Event{}), // a time without events so long that the renderer shows progress
		ends(17*s, "m2", "etcd", "etcd binaries", engine.Result{Status: engine.StatusChanged, Elapsed: 15 * s, Tries: 2}),
		at(17*s, engine.Event{Type: engine.EventWait, Host: "m1"}),
		ends(18*s, "m2", "", "look", engine.Result{Status: engine.StatusOK, Ignored: true, Failure: &engine.Failure{Message: "exit code 1"}}),
		begins(19*s, "minion-01", "", "out of the load balancer"),
		at(19*s, engine.Event{Type: engine.EventStepStart, Host: "m1", Step: "1..1/minion-01", Name: "out of the load balancer"}),
		ends(20*s, "minion-01", "", "out of the load balancer", engine.Result{Status: engine.StatusChanged, Delegate: "m1"}),
		ends(95*s, "m2", "etcd", "etcd runs", engine.Result{Status: engine.StatusFailed, Elapsed: 77 * s, Failure: &engine.Failure{
			Message: "etcd.service was started and ended with exit code 2; see `journalctl -u etcd`", Detail: "bad flag\nusage: etcd\n"}}),
		at(95*s, engine.Event{Type: engine.EventHostParked, Host: "m2", Text: "etcd.service was started and ended with exit code 2"}),
		at(96*s, engine.Event{Type: engine.EventHostParked, Host: "m1", Text: "etcd.service was started and ended with exit code 2"}),
		at(97*s, engine.Event{Type: engine.EventWarning, Text: "the clock of m1 is 3s ahead"}),
		at(98*s, engine.Event{Type: engine.EventInterrupted, Text: "finishing the steps in flight; interrupt again to stop now"}),
		ends(99*s, "m1", "etcd", "etcd runs", engine.Result{Status: engine.StatusCancelled, Reason: "interrupted"}),
		at(100*s, engine.Event{Type: engine.EventRunEnd, Name: "install", Report: &engine.Report{Run: "20260304-050607.000", Elapsed: 100 * s, Hosts: []engine.HostReport{}}}),
	}
}
