package main

import (
	"bufio"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"

	"deployer/test/fleet"
)

// TestEveryExitCode ends the program with each exit code of the reference, except that
// of verify, which needs a cluster (test/e2e, TestCluster/verify).
func TestEveryExitCode(t *testing.T) {
	s := newTestSite(t, 3, map[string]string{
		"good.yaml":  "- hosts: all\n  tasks: [{file: {path: /motd, content: hello}}]\n",
		"bad.yaml":   "- hosts: all\n  tasks: [{file: {path: /motd, content: other}}, {command: {argv: [false]}}]\n",
		"some.yaml":  "- hosts: all\n  max_fail: {all: 2}\n  tasks: [{command: {argv: [\"false\"]}, when: 'host.name == \"n003\"'}]\n",
		"slow.yaml":  "- hosts: all\n  tasks: [{name: begun, debug: {msg: x}}, {command: {argv: [sleep, \"3\"]}}, {command: {argv: [sleep, \"60\"]}}]\n",
		"other.yaml": "- hosts: all\n  tasks: [{coppy: {dest: /motd}}]\n",
		"rollout.yaml": `
- hosts: all
  tasks:
    - block:
        - {name: config, file: {path: /config, content: "bad\n"}}
        - {name: gate, command: {argv: [grep, -q, good, "{{ root }}/config"], read_only: true}}
      rollout: {}
`,
	})
	vars := map[string]map[string]any{}
	for i, h := range s.fleet.Hosts {
		vars[h.Name] = map[string]any{"root": h.Root}
		s.writeHostFile(i, "config", "good\n")
	}
	s.site = fleet.Site{HostVars: vars}
	s.writeInventory()
	seen := map[int]bool{}
	for _, c := range []struct {
		code int
		args []string
	}{
		{exitOK, []string{"run", "good.yaml"}},
		{exitFailed, []string{"run", "bad.yaml"}},
		{exitUsage, []string{"run", "other.yaml"}},
		{exitPartial, []string{"run", "some.yaml"}},
		{exitRefused, []string{"revert", "1999"}},
		{exitRestored, []string{"run", "rollout.yaml"}},
	} {
		if c.code == exitRefused {
			c.args = []string{"revert", s.runs()[len(s.runs())-1].Header.Run} // without --yes, after a later change
		}
		t.Run(c.args[0]+" "+c.args[1], func(t *testing.T) {
			s.t = t
			s.deployer(c.code, c.args...)
		})
		seen[c.code] = true
	}
	s.t = t
	if code := s.interrupt("run", "slow.yaml"); code != exitInterrupted {
		t.Errorf("interrupted: exit code %d", code)
	}
	seen[exitInterrupted] = true
	// These two codes need a cluster: the lab's tests and TestCodesOfDecisions cover
	// them.
	seen[exitUnhealthy], seen[exitQuorumLost] = true, true
	for _, e := range exitCodes {
		if !seen[e.Code] {
			t.Errorf("nothing ends with the exit code %d (%s)", e.Code, e.Meaning)
		}
	}
}

// interrupt starts deployer in another process, interrupts it when the first step has
// ended, and returns its exit code.
func (s *testSite) interrupt(args ...string) int {
	s.t.Helper()
	p := exec.CommandContext(s.t.Context(), os.Args[0], append(args, "-o", "json")...)
	p.Args[0] = "deployer" // see TestMain
	out, err := p.StdoutPipe()
	if err != nil {
		s.t.Fatal(err)
	}
	if err := p.Start(); err != nil {
		s.t.Fatal(err)
	}
	lines := bufio.NewScanner(out)
	lines.Buffer(nil, 1<<20)
	sent := false
	for lines.Scan() {
		if !sent && strings.Contains(lines.Text(), `"step.end"`) {
			sent = true
			if err := p.Process.Signal(syscall.SIGINT); err != nil {
				s.t.Fatal(err)
			}
		}
	}
	_ = p.Wait()
	return p.ProcessState.ExitCode()
}
