package faults

import (
	"bytes"
	"context"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"gopkg.in/yaml.v3"

	"deployer/engine"
	"deployer/engine/protocol"
	"deployer/engine/session"
	"deployer/engine/transport/sshtest"
	"deployer/engine/view"
	"deployer/inventory"
	"deployer/test/fleet"
)

var seeds = flag.Int("seeds", 1, "how many seeds to try random faults with")

// crowd is the number of hosts. With 100 hosts each kind of fault affects at least
// two, with 300 at least six.
var crowd = flag.Int("hosts", 100, "how many hosts the random faults are spread over")

// fault is a kind of fault of a host.
type fault struct {
	name string
	// reason is the expected text of the summary about the host; nil when the run
	// must come to its end all the same.
	reason *regexp.Regexp
	before func(*site, *fleet.Host) // the run
	answer func(*site, *fleet.Host, sshtest.Command, func(sshtest.Command) int) int
	step   func(*site, *fleet.Host) // the link of step 05
}

// faults returns all kinds of faults. Each kind that a host survives affects a tenth
// of the hosts, each other kind a fiftieth.
func faults() []fault {
	return []fault{
		{name: "slow", step: func(_ *site, _ *fleet.Host) { time.Sleep(300 * time.Millisecond) }},
		{name: "cut once", step: func(s *site, h *fleet.Host) {
			if s.first(h) {
				h.Cut()
			}
		}},
		{name: "cut while a file is sent", answer: func(s *site, h *fleet.Host, c sshtest.Command, serve func(sshtest.Command) int) int {
			if s.first(h) {
				c.Stdin = tapReader{c.Stdin, newTap(&breaker{at: 1, only: protocol.BlobChunk, do: h.Cut}, false)}
			}
			return serve(c)
		}},
		{name: "noise before the agent", answer: func(_ *site, _ *fleet.Host, c sshtest.Command, serve func(sshtest.Command) int) int {
			_, _ = io.WriteString(c.Stdout, "Welcome!\r\n\x1b[2J\x1b]0;owned\x07motd\n"+strings.Repeat("noise\n", 100))
			return serve(c)
		}},
		{name: "clock of tomorrow", answer: func(_ *site, h *fleet.Host, c sshtest.Command, _ func(sshtest.Command) int) int {
			return agentProcess(role{Root: h.Root, Host: h.Name, Line: c.Line, ClockOff: 24 * time.Hour}, c, func(*os.Process) {})
		}},
		{name: "refused", reason: regexp.MustCompile("refused"), before: func(_ *site, h *fleet.Host) { h.Stop() }},
		{name: "hangs", reason: regexp.MustCompile("(?i)time|no answer|silent"), before: func(_ *site, h *fleet.Host) { h.Freeze(true) }},
		{name: "dies", reason: regexp.MustCompile("refused|lost|closed"), step: func(_ *site, h *fleet.Host) { go h.Stop() }},
		{name: "disk full", reason: regexp.MustCompile("no space left"), answer: func(_ *site, h *fleet.Host, c sshtest.Command, _ func(sshtest.Command) int) int {
			return agentProcess(role{Root: h.Root, Host: h.Name, Line: c.Line, DiskBytes: 60 << 10}, c, func(*os.Process) {})
		}},
		{name: "speaks no frames", reason: regexp.MustCompile("protocol|frame|agent"), answer: func(_ *site, _ *fleet.Host, c sshtest.Command, serve func(sshtest.Command) int) int {
			c.Stdout = &garbler{to: c.Stdout}
			return serve(c)
		}},
		{name: "sudo denied", reason: regexp.MustCompile("sudo"), answer: func(s *site, _ *fleet.Host, c sshtest.Command, _ func(sshtest.Command) int) int {
			return sshtest.RunShell(context.Background(), c, []string{"PATH=" + s.sudo + ":/usr/bin:/bin", "HOME=/"})
		}},
	}
}

// site is one run with faults.
type site struct {
	t     *testing.T
	fleet *fleet.Fleet
	sudo  string // a directory with a sudo that refuses every user but root
	of    map[string]fault

	mu   sync.Mutex
	seen map[string]bool
}

// first returns true at the first call for each host.
func (s *site) first(h *fleet.Host) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	before := s.seen[h.Name]
	s.seen[h.Name] = true
	return !before
}

// TestRandomFaults gives hundreds of hosts faults at random. The run must end,
// complete all hosts that survive their fault, and name exactly the hosts that
// failed, with the reason. No goroutines and open files may remain.
func TestRandomFaults(t *testing.T) {
	playbook := playbookDir(t)
	quiet := newTestFleet(t, 1, playbook, fleet.Options{})
	quiet.run("quiet")
	want := tree(t, quiet.fleet.Hosts[0])
	quiet.fleet.Close()
	for seed := range *seeds {
		t.Run(fmt.Sprintf("seed %d", seed), func(t *testing.T) {
			goroutines, files := runtime.NumGoroutine(), openFiles(t)
			s := newSite(t, rand.New(rand.NewPCG(uint64(seed), 0)))
			report := s.run(t, playbook, "100%")
			s.judge(t, report, want)
			s.fleet.Close()
			noneLeft(t, goroutines, files)
		})
	}
}

// TestBudgetWithFaults: a run that loses more hosts than max_fail allows stops,
// reports that, and does not begin with further hosts.
func TestBudgetWithFaults(t *testing.T) {
	s := newSite(t, rand.New(rand.NewPCG(7, 0)))
	report := s.run(t, playbookDir(t), "5")
	if report.Outcome() != engine.OutcomeAborted || !strings.Contains(report.Aborted, `too many hosts of "all" failed`) {
		t.Errorf("the run is %s: %s", report.Outcome(), report.Aborted)
	}
	for _, h := range report.Broken() {
		if s.of[h.Host].reason == nil {
			t.Errorf("%s (%s) is said to have failed: %s", h.Host, s.of[h.Host].name, h.Failure.Message)
		}
	}
}

func newSite(t *testing.T, random *rand.Rand) *site {
	t.Helper()
	dir, err := os.MkdirTemp("/dev/shm", "faults-")
	if err != nil {
		dir = t.TempDir()
	}
	s := &site{t: t, of: map[string]fault{}, seen: map[string]bool{}, sudo: t.TempDir()}
	for name, script := range map[string]string{"sudo": "echo 'sudo: a password is required' >&2; exit 1", "id": "echo 1000"} {
		if err := os.WriteFile(filepath.Join(s.sudo, name), []byte("#!/bin/sh\n"+script+"\n"), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	s.fleet, err = fleet.Start(*crowd, fleet.Options{Dir: dir,
		Before: func(_ context.Context, h *fleet.Host, module string) {
			if f := s.of[h.Name]; f.step != nil && module == "link" {
				f.step(s, h)
			}
		},
		Exec: func(_ context.Context, h *fleet.Host, c sshtest.Command, serve func(sshtest.Command) int) int {
			if f := s.of[h.Name]; f.answer != nil {
				return f.answer(s, h, c, serve)
			}
			return serve(c)
		}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		for _, h := range s.fleet.Hosts {
			h.Freeze(false)
		}
		s.fleet.Close()
		_ = os.RemoveAll(dir)
	})
	plant(t, s.fleet)
	hosts := slices.Clone(s.fleet.Hosts)
	random.Shuffle(len(hosts), func(i, j int) { hosts[i], hosts[j] = hosts[j], hosts[i] })
	for _, f := range faults() {
		share := *crowd / 10
		if f.reason != nil {
			share = *crowd / 50
		}
		n := 1 + random.IntN(share)
		for _, h := range hosts[:n] {
			s.of[h.Name] = f
			if f.before != nil {
				f.before(s, h)
			}
		}
		hosts = hosts[n:]
	}
	return s
}

func (s *site) run(t *testing.T, playbook, maxFail string) *engine.Report {
	t.Helper()
	doc := s.fleet.Document(fleet.Site{Forks: 32, MaxFail: map[string]string{"all": maxFail},
		Vars: map[string]any{"release": "1.0", "password": fleet.Secret("hunter2hunter2")}})
	hosts := doc["hosts"].(map[string]any)
	silence := map[string]time.Duration{}
	for name, f := range s.of {
		entry := hosts[name].(map[string]any)
		switch f.name {
		case "hangs":
			entry["ssh"] = map[string]any{"connect_timeout": "2s"}
			silence[name] = 2 * time.Second
		case "sudo denied":
			entry["ssh"] = map[string]any{"become": "sudo"}
		}
	}
	data, err := yaml.Marshal(doc)
	if err != nil {
		t.Fatal(err)
	}
	inv, err := inventory.Parse("faults.yaml", data)
	if err != nil {
		t.Fatal(err)
	}
	c, err := controller(inv, playbook)
	if err != nil {
		t.Fatal(err)
	}
	c.IdleTimeout = silence
	c.Retry = session.Retry{Initial: 20 * time.Millisecond, Max: 200 * time.Millisecond, Attempts: 3, Waited: time.Minute, Reattempts: 3}
	ctx, stop := context.WithTimeout(t.Context(), 3*time.Minute)
	defer stop()
	report, err := c.Run(ctx, "faults")
	if err != nil {
		t.Fatal(err)
	}
	if ctx.Err() != nil {
		t.Fatal("the run hangs")
	}
	return report
}

// judge compares the report about every host with the fault that the host had.
func (s *site) judge(t *testing.T, report *engine.Report, want map[string]string) {
	t.Helper()
	if report.Outcome() != engine.OutcomePartial {
		t.Errorf("the run is %s: %s", report.Outcome(), report.Aborted)
	}
	var summary bytes.Buffer
	view.Summary(&summary, "faults", report, "again")
	counts := map[string]int{}
	for _, h := range report.Hosts {
		f := s.of[h.Host]
		counts[f.name]++
		switch {
		case f.reason == nil && (h.Failure != nil || h.Cancelled):
			t.Errorf("%s (%s) failed: %+v", h.Host, f.name, h.Failure)
		case f.reason == nil:
			single := &testFleet{t: t, fleet: &fleet.Fleet{Hosts: []*fleet.Host{s.fleet.Host(h.Host)}}}
			single.like(want)
		case h.Failure == nil:
			t.Errorf("%s (%s) did not fail", h.Host, f.name)
		case !f.reason.MatchString(h.Failure.Message + " " + h.Failure.Detail):
			t.Errorf("%s (%s) failed for another reason: %s", h.Host, f.name, h.Failure.Message)
		}
		if named := strings.Contains(summary.String(), h.Host); named != (f.reason != nil) {
			t.Errorf("the summary names %s (%s): %t", h.Host, f.name, named)
		}
		if t.Failed() {
			break
		}
	}
	t.Logf("hosts by fault: %v", counts)
}

// garbler forwards the text before the frames, and replaces the frames by noise.
type garbler struct {
	to     io.Writer
	before []byte
	begun  bool
}

func (g *garbler) Write(p []byte) (int, error) {
	if g.begun {
		_, err := g.to.Write(bytes.Repeat([]byte{0xff, 0x7f, 0x1b}, 40))
		return len(p), err
	}
	g.before = append(g.before, p...)
	g.begun = bytes.Contains(g.before, []byte(protocol.Banner+"\n"))
	_, err := g.to.Write(p)
	return len(p), err
}

// noneLeft waits until the goroutines and open files of a run are gone, at most 20 s.
func noneLeft(t *testing.T, goroutines, files int) {
	t.Helper()
	deadline := time.Now().Add(20 * time.Second)
	for runtime.NumGoroutine() > goroutines+5 || openFiles(t) > files+5 {
		if time.Now().After(deadline) {
			stacks := make([]byte, 1<<20)
			stacks = stacks[:runtime.Stack(stacks, true)]
			t.Fatalf("%d goroutines and %d open files are left, %d and %d were there before\n%s", runtime.NumGoroutine(), openFiles(t), goroutines, files, stacks[:min(len(stacks), 8000)])
		}
		time.Sleep(100 * time.Millisecond)
	}
}

func openFiles(t *testing.T) int {
	t.Helper()
	entries, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Fatal(err)
	}
	return len(entries)
}
