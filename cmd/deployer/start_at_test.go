package main

import (
	"os"
	"path/filepath"
	"testing"
)

// TestStartAtIsRecorded checks that --start-at is recorded in logs and plans, and used
// by resume and apply.
func TestStartAtIsRecorded(t *testing.T) {
	s := newTestSite(t, 1, map[string]string{"site.yaml": `
- hosts: all
  tasks:
    - {name: first, file: {path: /first, content: x}}
    - {name: second, file: {path: /second, content: x}}
    - {name: third, file: {path: /third/file, content: x}}
`})
	s.deployer(exitFailed, "run", "site.yaml", "--start-at", "second")
	s.writeHostFile(0, "third/ready", "")
	s.deployer(exitOK, "resume")
	if got := s.hostFile(0, "first") + s.hostFile(0, "third/file"); got != "-x" {
		t.Errorf("resumed, the host has %q", got)
	}
	if err := os.Remove(filepath.Join(s.fleet.Hosts[0].Root, "second")); err != nil {
		t.Fatal(err)
	}
	s.deployer(exitOK, "plan", "run", "site.yaml", "--start-at", "second", "-o", "plan.json")
	out, _ := s.deployer(exitOK, "apply", "plan.json")
	requireTexts(t, out, "site.yaml done", "1 changed")
	if got := s.hostFile(0, "first") + s.hostFile(0, "second"); got != "-x" {
		t.Errorf("applied, the host has %q", got)
	}
	shown, _ := s.deployer(exitOK, "runs", "show")
	requireTexts(t, shown, "start at: second")
	s.deployer(exitOK, "revert", s.runs()[0].Header.Run, "--yes")
	if got := s.hostFile(0, "second"); got != "-" {
		t.Errorf("reverted, the host has %q", got)
	}
}
