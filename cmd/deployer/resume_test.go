package main

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"deployer/test/fleet"
)

const motd = `
- hosts: all
  tasks:
    - {name: motd, file: {path: /motd, content: "{{ release }} {{ token }}"}}
    - {name: late, file: {path: /late/motd, content: x}}
`

// TestResume checks that a failed run is resumed on the failed host with the same
// variables, that withheld variables must be set again, and that a completed run is not
// resumed.
func TestResume(t *testing.T) {
	y := newYard(t, 3, map[string]string{"site.yaml": motd})
	for _, host := range []int{0, 1} {
		y.put(host, "late/ready", "")
	}
	y.site.MaxFail = map[string]string{"all": "1"}
	y.inventory()
	out, _ := y.deployer(exitPartial, "run", "site.yaml", "-e", "release=7", "-e", "token=hunter2")
	id := y.runs()[0].Header.Run
	says(t, out, "n003", "late", "to continue, run:", "deployer resume "+id+" -e token=...")

	shown, _ := y.deployer(exitOK, "runs", "show", id)
	says(t, shown, "deployer run site.yaml", "variables: release, token", "changed:", "n[001:002] (2 hosts): 2 files",
		"n003 (1 host): 1 file", "site.yaml partly done", "deployer resume "+id)
	listed, _ := y.deployer(exitOK, "runs", "list")
	says(t, listed, "RUN", id, "run", "site.yaml", "partly done", "3", "5", "1")
	tailed, _ := y.deployer(exitOK, "runs", "tail", id)
	says(t, tailed, "motd", "FAILED", "PARKED", "site.yaml partly done")
	raw, _ := y.deployer(exitOK, "runs", "show", id, "-o", "json")
	if strings.Contains(raw+shown+tailed+out, "hunter2") {
		t.Error("the secret of the command line is told")
	}

	_, complaint := y.deployer(exitUsage, "resume")
	says(t, complaint, "set them again", "deployer resume "+id+" -e token=...")
	y.put(2, "late/ready", "")
	y.write("site.yaml", motd+"\n# changed\n")
	_, complaint = y.deployer(exitRefused, "resume", "-e", "token=hunter2")
	says(t, complaint, "changed since run "+id, "site.yaml", "--allow-changed-playbook")
	y.write("site.yaml", motd)

	out, _ = y.deployer(exitOK, "resume", "-e", "token=hunter2")
	says(t, out, "1 host, 1 changed")
	if got := y.on(2, "motd") + y.on(2, "late/motd"); got != "7 hunter2x" {
		t.Errorf("n003 has %q", got)
	}
	last := y.runs()[0].Header
	if last.Resumes != id || last.Invocation.Limit != "n003" {
		t.Errorf("the second run: %+v", last)
	}
	_, complaint = y.deployer(exitUsage, "resume")
	says(t, complaint, "nothing to resume")
	_, complaint = y.deployer(exitUsage, "resume", last.Run)
	says(t, complaint, "nothing to resume: run "+last.Run)
	_, complaint = y.deployer(exitUsage, "resume", "2001")
	says(t, complaint, `there is no run "2001"`)
}

// TestResumeAfterKill checks that a killed run is listed as killed, and resumed to its
// end.
func TestResumeAfterKill(t *testing.T) {
	var book strings.Builder
	book.WriteString("- hosts: all\n  tasks:\n")
	for i := range 20 {
		fmt.Fprintf(&book, "    - {name: step %d, file: {path: /file%d, content: x}}\n", i, i)
	}
	slow := fleet.Options{Before: func(context.Context, *fleet.Host, string) { time.Sleep(20 * time.Millisecond) }}
	y := newYardOf(t, 2, slow, map[string]string{"site.yaml": book.String()})

	y.kill([]string{`"name":"step 5"`}, "run", "site.yaml")
	id := y.runs()[0].Header.Run
	shown, _ := y.deployer(exitOK, "runs", "show")
	says(t, shown, "run "+id, "killed", "changed:", "killed after", "deployer resume "+id)
	if got := y.on(0, "file19"); got != "-" {
		t.Fatal("the run had come to its end when it was killed")
	}
	summary, _ := y.deployer(exitOK, "resume")
	says(t, summary, "site.yaml done", "2 hosts")
	for host := range 2 {
		for i := range 20 {
			if got := y.on(host, fmt.Sprintf("file%d", i)); got != "x" {
				t.Errorf("host %d, file %d: %q", host, i, got)
			}
		}
	}
	last := y.runs()[0]
	if last.Header.Resumes != id || last.Report.Changed() >= 40 {
		t.Errorf("%+v, %d changed", last.Header, last.Report.Changed())
	}
	taken, _ := y.deployer(exitOK, "revert", last.Header.Run, "--yes")
	says(t, taken, "resumed run "+id, "deployer revert "+id)
	y.deployer(exitOK, "revert", id, "--yes")
	if got := y.on(0, "file0") + y.on(1, "file19"); got != "--" {
		t.Errorf("after both are reverted: %q", got)
	}
}
