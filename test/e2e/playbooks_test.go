//go:build lab

package e2e

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"deployer/test/lab/plan"
)

// webHosts are the hosts of TestPlaybooks.
var webHosts = []string{"h1", "h2", "h3"}

// TestPlaybooks runs user playbooks on three hosts with nginx: the examples; plan,
// apply, revert and resume; the run lock; exec, facts and fetch; hostile users, full
// disks and interrupted commands.
func TestPlaybooks(t *testing.T) {
	s := newSite(t, plan.Spec{Hosts: 3})
	s.edit(func(inv map[string]any) { section(inv, "groups", "web")["hosts"] = "h[1:3]" })
	for _, part := range []struct {
		name string
		run  func(*site)
	}{
		{"exec", execSharesOutput},
		{"facts", factsMatchHost},
		{"fetch", fetchFiles},
		{"example nginx-site", exampleSite},
		{"example users", exampleUsers},
		{"example canary", exampleCanary},
		{"example rolling-restart", exampleRollingRestart},
		{"a rolling restart stops at bad health", rollingRestartStops},
		{"a rolling restart stops at a failed restart", failedRestartStops},
		{"plan, apply, revert, resume", planToRevert},
		{"two runs at once", concurrentRuns},
		{"the lock of a killed run", killedController},
		{"links of a user", linksOfUsers},
		{"an interrupted command", interruptedCommand},
		{"an old file without room", backupOnFullDisk},
	} {
		t.Run(part.name, func(t *testing.T) { part.run(s.on(t)) })
	}
}

// example is the path of a playbook below examples.
func example(name string) string { return filepath.Join("../../examples", name, "playbook.yaml") }

// runTwice runs a playbook two times; the second run changes nothing.
func (s *site) runTwice(args ...string) {
	s.t.Helper()
	s.must(args...)
	events, r := s.events(s.must(append(args, "--output", "json")...))
	if len(r.Hosts) != len(webHosts) || r.changed() != 0 {
		s.t.Errorf("the second run of %v: %d hosts, changed %v; want %d hosts and no change", args, len(r.Hosts), changedSteps(events), len(webHosts))
	}
}

// changedSteps are the steps of a run that changed something, as "HOST NAME" in
// the order in which they ended.
func changedSteps(events []map[string]any) (steps []string) {
	for _, e := range events {
		if result, _ := e["result"].(map[string]any); e["type"] == "step.end" && result["status"] == "changed" {
			steps = append(steps, fmt.Sprint(e["host"], " ", e["name"]))
		}
	}
	return steps
}

// requireTexts checks that an output contains texts.
func (s *site) requireTexts(text string, want ...string) {
	s.t.Helper()
	for _, w := range want {
		if !strings.Contains(text, w) {
			s.t.Errorf("the output does not say %q:\n%s", w, text)
		}
	}
}

// span is a time during which a service was down.
type span struct {
	host     string
	from, to time.Time
}

// restarts are the times from the stop of a unit to its next start on all hosts
// since some moment, the first first. The hosts share this machine's clock.
func (s *site) restarts(unit string, since time.Time) []span {
	s.t.Helper()
	var all []span
	for _, host := range webHosts {
		down := time.Time{}
		for line := range strings.Lines(s.shell(host, "journalctl --sync; journalctl -q -o json --output-fields=MESSAGE -u "+unit)) {
			var entry struct {
				Time    string `json:"__REALTIME_TIMESTAMP"`
				Message string `json:"MESSAGE"`
			}
			if err := json.Unmarshal([]byte(line), &entry); err != nil {
				s.t.Fatalf("%s: %q: %v", host, line, err)
			}
			usec, err := strconv.ParseInt(entry.Time, 10, 64)
			if err != nil {
				s.t.Fatal(err)
			}
			switch at := time.UnixMicro(usec); {
			case at.Before(since):
			case strings.HasPrefix(entry.Message, "Stopping "):
				down = at
			case strings.HasPrefix(entry.Message, "Started ") && !down.IsZero():
				all = append(all, span{host, down, at})
				down = time.Time{}
			}
		}
	}
	slices.SortFunc(all, func(a, b span) int { return a.from.Compare(b.from) })
	return all
}

// requireOneByOne wants that since some moment the unit was restarted once on each of
// these hosts, in whatever order, and never down on two at one time.
func (s *site) requireOneByOne(unit string, since time.Time, hosts ...string) {
	s.t.Helper()
	spans := s.restarts(unit, since)
	var order []string
	for i, sp := range spans {
		order = append(order, sp.host)
		if i > 0 && sp.from.Before(spans[i-1].to) {
			s.t.Errorf("%s was down on %s and %s at one time: %v", unit, spans[i-1].host, sp.host, spans)
		}
	}
	slices.Sort(order)
	if !slices.Equal(order, hosts) {
		s.t.Errorf("%s was restarted on %v, want once on each of %v", unit, order, hosts)
	}
}

// backgroundRun is a deployer that runs beside the test.
type backgroundRun struct {
	s      *site
	args   []string
	cmd    *exec.Cmd
	lines  *bufio.Scanner
	said   bytes.Buffer // on stdout, so far
	stderr bytes.Buffer
	end    context.CancelFunc
}

// start starts a deployer whose output are events.
func (s *site) start(args ...string) *backgroundRun {
	s.t.Helper()
	ctx, cancel := context.WithTimeout(s.t.Context(), 5*time.Minute)
	u := &backgroundRun{s: s, args: args, cmd: s.command(ctx, append(args, "--output", "json")...), end: cancel}
	u.cmd.Stderr = &u.stderr
	out, err := u.cmd.StdoutPipe()
	if err == nil {
		err = u.cmd.Start()
	}
	if err != nil {
		s.t.Fatal(err)
	}
	u.lines = bufio.NewScanner(out)
	u.lines.Buffer(nil, 16<<20)
	s.t.Cleanup(cancel)
	return u
}

// until reads events up to the first that fits.
func (u *backgroundRun) until(what string, fits func(map[string]any) bool) {
	u.s.t.Helper()
	for u.lines.Scan() {
		fmt.Fprintf(&u.said, "%s\n", u.lines.Text())
		var e map[string]any
		if err := json.Unmarshal(u.lines.Bytes(), &e); err != nil {
			u.s.t.Fatalf("not a JSON line: %q: %v", u.lines.Text(), err)
		}
		if fits(e) {
			return
		}
	}
	o := u.wait()
	u.s.t.Fatalf("deployer %v ended with %d before it came to %s:\n%s", u.args, o.code, what, o.all())
}

// step reads up to the beginning or end of a step; on any host if that is empty.
func (u *backgroundRun) step(kind, host, name string) {
	u.s.t.Helper()
	u.until(fmt.Sprintf("%s of %q on %s", kind, name, host), func(e map[string]any) bool {
		return e["type"] == kind && e["name"] == name && (host == "" || e["host"] == host)
	})
}

// wait waits for the end of the command.
func (u *backgroundRun) wait() outcome {
	u.s.t.Helper()
	for u.lines.Scan() {
		fmt.Fprintf(&u.said, "%s\n", u.lines.Text())
	}
	_ = u.cmd.Wait() // the exit code tells
	u.end()
	return outcome{u.cmd.ProcessState.ExitCode(), u.said.String(), u.stderr.String()}
}

// kill kills the command with SIGKILL.
func (u *backgroundRun) kill() {
	u.s.t.Helper()
	if err := u.cmd.Process.Kill(); err != nil {
		u.s.t.Fatal(err)
	}
	if o := u.wait(); o.code != -1 {
		u.s.t.Fatalf("deployer %v had ended with %d before it was killed:\n%s", u.args, o.code, o.all())
	}
}

// lastRun is the newest run in the list of runs.
func (s *site) lastRun() (run struct {
	Run, Verb, Outcome     string
	Hosts, Changed, Failed int
}) {
	s.t.Helper()
	all := []struct {
		Run, Verb, Outcome     string
		Hosts, Changed, Failed int
	}{}
	if err := json.Unmarshal([]byte(s.must("runs", "list", "-o", "json", "-n", "1").stdout), &all); err != nil || len(all) != 1 {
		s.t.Fatalf("runs list: %v, %d runs", err, len(all))
	}
	return all[0]
}
