package main

import (
	"strings"
	"testing"

	"deployer/engine"
)

func TestNewestSnapshotIsTaken(t *testing.T) {
	t.Parallel()
	n := &newestSnapshot{}
	for _, out := range []engine.Output{
		{"path": "/s/1.db", "revision": 1200},
		{"host": "m2", "path": "/s/2.db", "revision": int64(1_000_002_086), "saved": 3},
		{"path": "/etc/kubernetes"}, // of another step
	} {
		n.Emit(engine.Event{Type: engine.EventStepEnd, Host: "m1", Result: &engine.Result{Output: out, OnController: true}})
	}
	forged := engine.Output{"host": "m3", "path": "/s/3.db", "revision": 1, "saved": 1}
	n.Emit(engine.Event{Type: engine.EventStepEnd, Host: "m3", Result: &engine.Result{Output: forged}}) // of a module
	if n.host != "m2" || n.path != "/s/2.db" || n.revision != "1000002086" || n.number != 3 {
		t.Errorf("%s:%s, revision %s of %d", n.host, n.path, n.revision, n.number)
	}
}

func TestReaddressOutcome(t *testing.T) {
	t.Parallel()
	report := func(failures map[string]string) *engine.Report {
		r := &engine.Report{}
		for _, host := range []string{"m1", "m2"} {
			h := engine.HostReport{Host: host}
			if text := failures[host]; text != "" {
				h.Failure = &engine.Failure{Message: text}
			}
			r.Hosts = append(r.Hosts, h)
		}
		return r
	}
	interrupted := report(nil)
	interrupted.Interrupted = true
	checked := report(nil)
	checked.Check = true
	for name, tt := range map[string]struct {
		report *engine.Report
		number int
		code   int
		text   string
	}{
		"all snapshots are saved": {report(nil), 2, exitOK, ""},
		"a dry run":               {checked, 0, exitOK, ""},
		"interrupted":             {interrupted, 1, exitInterrupted, ""},
		"a host cannot save":      {report(map[string]string{"m1": "m2 has failed", "m2": "a copy of the data of etcd does not fit"}), 1, exitRefused, "nothing was changed: m2: a copy"},
		"no snapshot is saved":    {report(nil), 0, exitFailed, "no member has saved a snapshot"},
	} {
		err := readdressOutcome(tt.report, &newestSnapshot{number: tt.number})
		if got := exitCode(err); got != tt.code || err != nil && !strings.Contains(err.Error(), tt.text) {
			t.Errorf("%s: exit code %d, want %d: %v", name, got, tt.code, err)
		}
	}
}

// TestCheckOfReaddressSaysWhatItFound: a dry run that has nothing to print looks like one that
// has not looked.
func TestCheckOfReaddressSaysWhatItFound(t *testing.T) {
	t.Parallel()
	const reason = "m1, m2, m3 have other addresses"
	found := &lostAddresses{}
	found.Emit(engine.Event{Type: engine.EventStepEnd, Host: "m2", Result: &engine.Result{Output: engine.Output{"reason": "forged"}}}) // of a module
	var out strings.Builder
	if err := found.print(&out, "text"); err == nil || !strings.Contains(err.Error(), "has not found out") || out.Len() > 0 {
		t.Errorf("without a decision: %v, %q", err, out.String())
	}
	found.Emit(engine.Event{Type: engine.EventStepEnd, Host: "m1", Result: &engine.Result{Output: engine.Output{"reason": reason}, OnController: true}})
	for output, want := range map[string]string{
		"text": "nothing was changed; etcd can be readdressed: " + reason + "\n",
		"json": "{\n  \"reason\": \"" + reason + "\"\n}\n",
	} {
		out.Reset()
		if err := found.print(&out, output); err != nil || out.String() != want {
			t.Errorf("%s: %v, %q", output, err, out.String())
		}
	}
}
