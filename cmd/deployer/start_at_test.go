package main

import (
	"os"
	"path/filepath"
	"testing"
)

// TestStartAtIsRecorded checks that --start-at is recorded in logs and plans, and used
// by resume and apply.
func TestStartAtIsRecorded(t *testing.T) {
	y := newYard(t, 1, map[string]string{"site.yaml": `
- hosts: all
  tasks:
    - {name: first, file: {path: /first, content: x}}
    - {name: second, file: {path: /second, content: x}}
    - {name: third, file: {path: /third/file, content: x}}
`})
	y.deployer(exitFailed, "run", "site.yaml", "--start-at", "second")
	y.put(0, "third/ready", "")
	y.deployer(exitOK, "resume")
	if got := y.on(0, "first") + y.on(0, "third/file"); got != "-x" {
		t.Errorf("resumed, the host has %q", got)
	}
	if err := os.Remove(filepath.Join(y.fleet.Hosts[0].Root, "second")); err != nil {
		t.Fatal(err)
	}
	y.deployer(exitOK, "plan", "run", "site.yaml", "--start-at", "second", "-o", "plan.json")
	out, _ := y.deployer(exitOK, "apply", "plan.json")
	says(t, out, "site.yaml done", "1 changed")
	if got := y.on(0, "first") + y.on(0, "second"); got != "-x" {
		t.Errorf("applied, the host has %q", got)
	}
	shown, _ := y.deployer(exitOK, "runs", "show")
	says(t, shown, "start at: second")
	y.deployer(exitOK, "revert", y.runs()[0].Header.Run, "--yes")
	if got := y.on(0, "second"); got != "-" {
		t.Errorf("reverted, the host has %q", got)
	}
}
