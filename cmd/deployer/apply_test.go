package main

import (
	"context"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"deployer/test/fleet"
)

const twoFiles = `
- hosts: all
  tasks:
    - {name: first, directory: {path: /etc/app}}
    - {name: second, file: {path: /etc/app/conf, content: planned}}
    - {name: third, file: {path: /etc/app/late, content: planned}}
`

// optionsAfterModule returns options that call do at a host's n-th check of a module.
func optionsAfterModule(module string, n int, do func(h *fleet.Host)) fleet.Options {
	var mu sync.Mutex
	seen := map[string]int{}
	return fleet.Options{Before: func(_ context.Context, h *fleet.Host, m string) {
		mu.Lock()
		defer mu.Unlock()
		if m != module {
			return
		}
		if seen[h.Name]++; seen[h.Name] == n {
			do(h)
		}
	}}
}

// TestApplyStepRefusesDrift changes a host after apply has checked all hosts: the agent
// refuses the step, and resume completes that host alone.
func TestApplyStepRefusesDrift(t *testing.T) {
	// The module checks the directory for the plan, for the check before the run, and
	// in the run.
	s := newTestSiteWith(t, 3, optionsAfterModule("directory", 3, func(h *fleet.Host) {
		if h.Name == "n002" {
			_ = os.MkdirAll(filepath.Join(h.Root, "etc/app"), 0o755)
			_ = os.WriteFile(filepath.Join(h.Root, "etc/app/conf"), []byte("somebody's"), 0o644)
		}
	}), map[string]string{"site.yaml": twoFiles})
	s.site.MaxFail = map[string]string{"all": "1"}
	s.writeInventory()
	s.deployer(exitOK, "plan", "run", "site.yaml", "-o", "plan.json")
	out, _ := s.deployer(exitPartial, "apply", "plan.json")
	requireTexts(t, out, `FAILED  n002  at "second"`, "differs from the plan: file /etc/app/conf: replace")
	for i, want := range []string{"planned", "somebody's", "planned"} {
		if got := s.hostFile(i, "etc/app/conf"); got != want {
			t.Errorf("host %d has %q, want %q", i, got, want)
		}
	}

	s.deployer(exitRefused, "resume")
	if err := os.Remove(filepath.Join(s.fleet.Hosts[1].Root, "etc/app/conf")); err != nil {
		t.Fatal(err)
	}
	out, _ = s.deployer(exitOK, "resume")
	requireTexts(t, out, "site.yaml done", "1 host, 2 changed")
	if last := s.runs()[0].Header; last.Invocation.Limit != "n002" || last.Plan == nil {
		t.Errorf("it was gone on with as %+v", last)
	}
}

// TestResumeApply kills an apply and resumes it: the rest is still compared with the
// plan.
func TestResumeApply(t *testing.T) {
	slow := fleet.Options{Before: func(_ context.Context, _ *fleet.Host, module string) {
		if module == "file" {
			time.Sleep(100 * time.Millisecond)
		}
	}}
	s := newTestSiteWith(t, 2, slow, map[string]string{"site.yaml": twoFiles})
	s.deployer(exitOK, "plan", "run", "site.yaml", "-o", "plan.json")
	s.kill([]string{`"step.end"`, `"name":"first"`}, "apply", "plan.json")
	id := s.runs()[0].Header.Run
	if got := s.hostFile(0, "etc/app/late"); got != "-" {
		t.Fatal("it had come to its end when it was killed")
	}

	s.writeHostFile(1, "etc/app/late", "somebody's")
	_, complaint := s.deployer(exitRefused, "resume")
	requireTexts(t, complaint, "refused", `n002: "third" would now: replace /etc/app/late`, "the plan does not have that")
	if err := os.Remove(filepath.Join(s.fleet.Hosts[1].Root, "etc/app/late")); err != nil {
		t.Fatal(err)
	}
	summary, _ := s.deployer(exitOK, "resume")
	requireTexts(t, summary, "site.yaml done", "2 hosts")
	for i := range 2 {
		if got := s.hostFile(i, "etc/app/conf") + s.hostFile(i, "etc/app/late"); got != "plannedplanned" {
			t.Errorf("host %d has %q", i, got)
		}
	}
	if last := s.runs()[0].Header; last.Resumes != id || last.Plan == nil {
		t.Errorf("%+v", last)
	}
}
