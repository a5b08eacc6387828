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
	s := newTestSite(t, 3, map[string]string{"site.yaml": motd})
	for _, host := range []int{0, 1} {
		s.writeHostFile(host, "late/ready", "")
	}
	s.site.MaxFail = map[string]string{"all": "1"}
	s.writeInventory()
	out, _ := s.deployer(exitPartial, "run", "site.yaml", "-e", "release=7", "-e", "token=hunter2")
	id := s.runs()[0].Header.Run
	requireTexts(t, out, "n003", "late", "to continue, run:", "deployer resume "+id+" -e token=...")

	shown, _ := s.deployer(exitOK, "runs", "show", id)
	requireTexts(t, shown, "deployer run site.yaml", "variables: release, token", "changed:", "n[001:002] (2 hosts): 2 files",
		"n003 (1 host): 1 file", "site.yaml partly done", "deployer resume "+id)
	listed, _ := s.deployer(exitOK, "runs", "list")
	requireTexts(t, listed, "RUN", id, "run", "site.yaml", "partly done", "3", "5", "1")
	tailed, _ := s.deployer(exitOK, "runs", "tail", id)
	requireTexts(t, tailed, "motd", "FAILED", "PARKED", "site.yaml partly done")
	raw, _ := s.deployer(exitOK, "runs", "show", id, "-o", "json")
	if strings.Contains(raw+shown+tailed+out, "hunter2") {
		t.Error("the secret of the command line is told")
	}

	_, complaint := s.deployer(exitUsage, "resume")
	requireTexts(t, complaint, "set them again", "deployer resume "+id+" -e token=...")
	s.writeHostFile(2, "late/ready", "")
	s.write("site.yaml", motd+"\n# changed\n")
	_, complaint = s.deployer(exitRefused, "resume", "-e", "token=hunter2")
	requireTexts(t, complaint, "changed since run "+id, "site.yaml", "--allow-changed-playbook")
	s.write("site.yaml", motd)

	out, _ = s.deployer(exitOK, "resume", "-e", "token=hunter2")
	requireTexts(t, out, "1 host, 1 changed")
	if got := s.hostFile(2, "motd") + s.hostFile(2, "late/motd"); got != "7 hunter2x" {
		t.Errorf("n003 has %q", got)
	}
	last := s.runs()[0].Header
	if last.Resumes != id || last.Invocation.Limit != "n003" {
		t.Errorf("the second run: %+v", last)
	}
	_, complaint = s.deployer(exitUsage, "resume")
	requireTexts(t, complaint, "nothing to resume")
	_, complaint = s.deployer(exitUsage, "resume", last.Run)
	requireTexts(t, complaint, "nothing to resume: run "+last.Run)
	_, complaint = s.deployer(exitUsage, "resume", "2001")
	requireTexts(t, complaint, `there is no run "2001"`)
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
	s := newTestSiteWith(t, 2, slow, map[string]string{"site.yaml": book.String()})

	s.kill([]string{`"name":"step 5"`}, "run", "site.yaml")
	id := s.runs()[0].Header.Run
	shown, _ := s.deployer(exitOK, "runs", "show")
	requireTexts(t, shown, "run "+id, "killed", "changed:", "killed after", "deployer resume "+id)
	if got := s.hostFile(0, "file19"); got != "-" {
		t.Fatal("the run had come to its end when it was killed")
	}
	summary, _ := s.deployer(exitOK, "resume")
	requireTexts(t, summary, "site.yaml done", "2 hosts")
	for host := range 2 {
		for i := range 20 {
			if got := s.hostFile(host, fmt.Sprintf("file%d", i)); got != "x" {
				t.Errorf("host %d, file %d: %q", host, i, got)
			}
		}
	}
	last := s.runs()[0]
	if last.Header.Resumes != id || last.Report.Changed() >= 40 {
		t.Errorf("%+v, %d changed", last.Header, last.Report.Changed())
	}
	taken, _ := s.deployer(exitOK, "revert", last.Header.Run, "--yes")
	requireTexts(t, taken, "resumed run "+id, "deployer revert "+id)
	s.deployer(exitOK, "revert", id, "--yes")
	if got := s.hostFile(0, "file0") + s.hostFile(1, "file19"); got != "--" {
		t.Errorf("after both are reverted: %q", got)
	}
}
