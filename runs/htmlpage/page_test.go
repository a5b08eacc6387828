package htmlpage

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/net/html"

	"deployer/engine"
	"deployer/engine/journal"
)

var update = flag.Bool("update", false, "write the golden files")

var start = time.Date(2026, 11, 23, 8, 0, 0, 0, time.UTC)

func second(s float64) time.Time { return start.Add(time.Duration(s * float64(time.Second))) }

// log writes the journal of a run and reads it.
func log(t *testing.T, events ...engine.Event) (*journal.Record, string) {
	t.Helper()
	dir := t.TempDir()
	l, err := journal.Create(dir, journal.Header{Run: "20261123-080000.000", Started: start, Invocation: journal.Invocation{Verb: "run", Playbook: "/site/web.yaml"}, By: "ops@admin", Deployer: "v1.0.0"})
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range events {
		l.Emit(e)
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	path := journal.Path(dir, "20261123-080000.000")
	r, err := journal.Read(path)
	if err != nil {
		t.Fatal(err)
	}
	return r, path
}

func render(t *testing.T, r *journal.Record, path string) string {
	t.Helper()
	p, err := Open(r, path, "deployer run web.yaml -i inventory.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	if err := p.Write(&out); err != nil {
		t.Fatal(err)
	}
	return out.String()
}

func end(at float64, host, step, name string, took float64, status engine.Status) engine.Event {
	return engine.Event{Time: second(at), Type: engine.EventStepEnd, Host: host, Step: step, Name: name, Role: "web",
		Result: &engine.Result{Status: status, Elapsed: time.Duration(took * float64(time.Second))}}
}

func wait(at float64, host, text string) engine.Event {
	return engine.Event{Time: second(at), Type: engine.EventWait, Host: host, Text: text}
}

// smallRun has a barrier, a turn, a failure and a host that was stopped.
func smallRun() []engine.Event {
	failed := end(9, "w2", "1.web.3", "start web", 1, engine.StatusFailed)
	failed.Result.Failure = &engine.Failure{Message: "web.service failed: exit code 1", Detail: "web[12]: no such file\n"}
	report := &engine.Report{Run: "20261123-080000.000", Elapsed: 10 * time.Second, Aborted: "w2: web.service failed: exit code 1", LeftOpen: []string{"node w3 is cordoned: kubectl uncordon w3"},
		Hosts: []engine.HostReport{{Host: "w1", OK: 1, Changed: 2}, {Host: "w2", Changed: 2, Failed: 1, FailedStep: "start web", Failure: failed.Result.Failure}, {Host: "w3", OK: 2, Cancelled: true}}}
	return []engine.Event{
		{Time: start, Type: engine.EventRunStart, Name: "web.yaml"},
		{Time: second(0.5), Type: engine.EventHostUp, Host: "w1"}, {Time: second(0.6), Type: engine.EventHostUp, Host: "w2"}, {Time: second(0.7), Type: engine.EventHostUp, Host: "w3"},
		end(2, "w1", "1.web.1", "packages", 1.5, engine.StatusOK), wait(2, "w1", `the barrier in play "web": w2, w3`),
		end(2.5, "w3", "1.web.1", "packages", 1.5, engine.StatusOK), wait(2.5, "w3", `the barrier in play "web": w2`),
		end(6, "w2", "1.web.1", "packages", 5.4, engine.StatusChanged), wait(6, "w1", ""), wait(6, "w3", ""),
		end(6.5, "w1", "1.web.2", "site.conf", 0.1, engine.StatusChanged), end(6.5, "w3", "1.web.2", "site.conf", 0.1, engine.StatusOK),
		wait(6.5, "w2", `its turn in "start web" (1 at a time)`), wait(6.6, "w3", `its turn in "start web" (1 at a time)`),
		end(8, "w1", "1.web.3", "start web", 1.5, engine.StatusChanged), wait(8, "w2", ""),
		failed, {Time: second(9), Type: engine.EventHostParked, Host: "w2", Text: "web.service failed: exit code 1"},
		wait(9, "w3", ""), end(9, "w3", "1.web.3", "start web", 0, engine.StatusCancelled),
		{Time: second(10), Type: engine.EventRunEnd, Report: report},
	}
}

// TestGolden compares the page of a small run, without style and script, and its view model.
func TestGolden(t *testing.T) {
	t.Parallel()
	r, path := log(t, smallRun()...)
	text := render(t, r, path)
	text = strings.Replace(strings.Replace(text, style, "STYLE", 1), script, "SCRIPT", 1)
	text = strings.Replace(text, html.EscapeString(policy), "POLICY", 1)
	golden := filepath.Join("testdata", "small.html")
	if *update {
		if err := os.WriteFile(golden, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), text); diff != "" {
		t.Errorf("run with -update, and read the diff:\n%s", diff)
	}
}

// TestRunWithoutReport checks the page of a run that was killed: steps that have begun, and
// hosts that were lost.
func TestRunWithoutReport(t *testing.T) {
	t.Parallel()
	r, path := log(t, engine.Event{Time: second(1), Type: engine.EventHostParked, Host: "w2", Text: "connection refused"},
		engine.Event{Time: second(1), Type: engine.EventStepStart, Host: "w1", Step: "1.web.1", Name: "packages"}, engine.Event{Time: second(2), Type: engine.EventWarning, Text: "x"})
	p, err := Open(r, path, "")
	if err != nil {
		t.Fatal(err)
	}
	if p.Outcome != "killed" || p.Good || len(p.Failures) != 1 || p.Failures[0].Message != "connection refused" || p.Failures[0].Hosts[0] != "w2" {
		t.Errorf("page: %+v", p)
	}
	states := map[string]string{}
	for _, h := range p.Hosts {
		states[h.Name] = h.State
	}
	if diff := cmp.Diff(map[string]string{"w1": "in a step", "w2": "left the run"}, states); diff != "" {
		t.Error(diff)
	}
}

// TestFailuresShareACause checks that hosts with the same cause share an entry, and that a
// page names a limited number of them.
func TestFailuresShareACause(t *testing.T) {
	t.Parallel()
	report := &engine.Report{Aborted: "too many hosts failed"}
	for i := range maxNames + 5 {
		host := fmt.Sprintf("h%03d", i)
		report.Hosts = append(report.Hosts, engine.HostReport{Host: host, Unreachable: true, Failure: &engine.Failure{Message: host + ": dial tcp 10.0.0." + fmt.Sprint(i) + ":22: refused"}})
	}
	report.Hosts = append(report.Hosts, engine.HostReport{Host: "x", FailedStep: "t", RunOnce: true, Failure: &engine.Failure{Message: "no", Detail: strings.Repeat("y", 2*maxDetail)}})
	p := New(&journal.Record{Report: report, Outcome: report.Outcome()}, emptyTimeline(), "")
	if len(p.Failures) != 2 || len(p.Failures[0].Hosts) != maxNames || p.Failures[0].More != 5 || !p.Failures[0].Similar || p.Failures[0].Count() != maxNames+5 || !p.Failures[0].Unreachable {
		t.Errorf("failures: %d, first %+v", len(p.Failures), p.Failures[0])
	}
	if f := p.Failures[1]; f.Where != "x" || len(f.Detail) > maxDetail+10 || f.Similar {
		t.Errorf("failure of a run_once step: %+v", f)
	}
}
