//go:build lab

package e2e

import (
	"os"
	"path/filepath"

	"deployer/test/harness"
)

// holding is a playbook that changes hosts and holds them until /run/go is there,
// with a command, since a step of the module wait would end with its controller.
const holding = `
- name: holding
  hosts: all
  tasks:
    - {name: begin, file: {path: /run/began, content: "{{ run.id }}"}}
    - {name: hold, shell: {cmd: "until test -e /run/go; do sleep 0.1; done"}, timeout: 4m}
    - {name: end, file: {path: /run/ended, content: "{{ run.id }}"}}
`

// startLockHolder starts a run that holds all hosts, and returns its id.
func (s *site) startLockHolder() (u *harness.BackgroundRun, playbook, id string) {
	s.T.Helper()
	playbook = filepath.Join(s.T.TempDir(), "holding.yaml")
	if err := os.WriteFile(playbook, []byte(holding), 0o600); err != nil {
		s.T.Fatal(err)
	}
	for _, h := range webHosts {
		s.Shell(h, "rm -f /run/go /run/began /run/ended")
	}
	u = s.StartRun("run", playbook)
	u.Until("its beginning", func(e map[string]any) bool {
		id, _ = e["text"].(string)
		return e["type"] == "run.start"
	})
	busy := map[any]bool{}
	u.Until("the step on all hosts that holds them", func(e map[string]any) bool {
		if e["type"] == "step.start" && e["name"] == "hold" {
			busy[e["host"]] = true
		}
		return len(busy) == len(webHosts)
	})
	return u, playbook, id
}

// concurrentRuns checks that a run on hosts of another run is refused before any change
// and names that run, also from another machine, and that verbs without a lock work.
func concurrentRuns(s *site) {
	first, playbook, id := s.startLockHolder()
	for name, second := range map[string]*site{"the same machine": s, "another machine": s.otherController()} {
		o := second.Deployer("run", playbook, "--limit", "h2,h3")
		if o.Code != 4 {
			s.T.Errorf("a second run from %s: exit %d, want 4\n%s", name, o.Code, o.All())
		}
		s.RequireTexts(o.All(), "run "+id+" (run) by ", " holds the lock on h")
	}
	s.Must("exec", "h1", "--", "true")
	s.Must("run", playbook, "--check")
	for _, h := range webHosts {
		if got := s.Shell(h, "cat /run/began; touch /run/go"); got != id {
			s.T.Errorf("%s was changed by run %q, want only %q", h, got, id)
		}
	}
	if o := first.Wait(); o.Code != 0 {
		s.T.Errorf("the first run: exit %d\n%s", o.Code, o.All())
	}
	s.Must("run", playbook)
}

// killedController checks that hosts of a killed run stay locked until their step in
// flight has ended, and that the next run waits for that.
func killedController(s *site) {
	first, playbook, id := s.startLockHolder()
	first.Kill()
	next := s.otherController().StartRun("run", playbook)
	next.Until("waiting for the lock", func(e map[string]any) bool { return e["type"] == "wait" && e["text"] != nil })
	for _, h := range webHosts {
		if got := s.Shell(h, "cat /run/began; touch /run/go"); got != id {
			s.T.Errorf("%s was changed by run %q while %q had its lock", h, got, id)
		}
	}
	o := next.Wait()
	if o.Code != 0 {
		s.T.Errorf("the run after the killed one: exit %d\n%s", o.Code, o.All())
	}
	for _, h := range webHosts {
		if got := s.Shell(h, "cat /run/ended"); got == id {
			s.T.Errorf("%s: the killed run went on behind its step in flight", h)
		}
	}
}
