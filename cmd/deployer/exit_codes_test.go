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
	y := newYard(t, 3, map[string]string{
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
	for i, h := range y.fleet.Hosts {
		vars[h.Name] = map[string]any{"root": h.Root}
		y.put(i, "config", "good\n")
	}
	y.site = fleet.Site{HostVars: vars}
	y.inventory()
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
			c.args = []string{"revert", y.runs()[len(y.runs())-1].Header.Run} // without --yes, after a later change
		}
		t.Run(c.args[0]+" "+c.args[1], func(t *testing.T) {
			y.t = t
			y.deployer(c.code, c.args...)
		})
		seen[c.code] = true
	}
	y.t = t
	if code := y.interrupt("run", "slow.yaml"); code != exitInterrupted {
		t.Errorf("interrupted: exit code %d", code)
	}
	seen[exitInterrupted], seen[exitUnhealthy] = true, true
	for _, e := range exitCodes {
		if !seen[e.code] {
			t.Errorf("nothing ends with the exit code %d (%s)", e.code, e.meaning)
		}
	}
}

// interrupt calls the program in a process of its own, interrupts it as soon as the
// first step has ended, and returns its exit code.
func (y *yard) interrupt(args ...string) int {
	y.t.Helper()
	p := exec.CommandContext(y.t.Context(), os.Args[0], append(args, "-o", "json")...)
	p.Args[0] = "deployer" // see TestMain
	out, err := p.StdoutPipe()
	if err != nil {
		y.t.Fatal(err)
	}
	if err := p.Start(); err != nil {
		y.t.Fatal(err)
	}
	lines := bufio.NewScanner(out)
	lines.Buffer(nil, 1<<20)
	sent := false
	for lines.Scan() {
		if !sent && strings.Contains(lines.Text(), `"step.end"`) {
			sent = true
			if err := p.Process.Signal(syscall.SIGINT); err != nil {
				y.t.Fatal(err)
			}
		}
	}
	_ = p.Wait()
	return p.ProcessState.ExitCode()
}
