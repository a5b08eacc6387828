//go:build lab

package e2e

import (
	"os"
	"path/filepath"
)

// holding is a playbook that changes hosts and holds them until /run/go is there,
// with a command: a step that only waits would end with its controller.
const holding = `
- name: holding
  hosts: all
  tasks:
    - {name: begin, file: {path: /run/began, content: "{{ run.id }}"}}
    - {name: hold, shell: {cmd: "until test -e /run/go; do sleep 0.1; done"}, timeout: 4m}
    - {name: end, file: {path: /run/ended, content: "{{ run.id }}"}}
`

// startLockHolder starts a run that holds all hosts, and returns its id.
func (s *site) startLockHolder() (u *backgroundRun, playbook, id string) {
	s.t.Helper()
	playbook = filepath.Join(s.t.TempDir(), "holding.yaml")
	if err := os.WriteFile(playbook, []byte(holding), 0o600); err != nil {
		s.t.Fatal(err)
	}
	for _, h := range webHosts {
		s.shell(h, "rm -f /run/go /run/began /run/ended")
	}
	u = s.start("run", playbook)
	u.until("its beginning", func(e map[string]any) bool {
		id, _ = e["text"].(string)
		return e["type"] == "run.start"
	})
	busy := map[any]bool{}
	u.until("the step on all hosts that holds them", func(e map[string]any) bool {
		if e["type"] == "step.start" && e["name"] == "hold" {
			busy[e["host"]] = true
		}
		return len(busy) == len(webHosts)
	})
	return u, playbook, id
}

// otherController returns the same site for another controller, which has no logs of
// this one.
func (s *site) otherController() *site {
	other := *s
	other.state = s.t.TempDir()
	return &other
}

// concurrentRuns checks that a run on hosts of another run is refused before any change
// and names that run, also from another machine, and that verbs without a lock work.
func concurrentRuns(s *site) {
	first, playbook, id := s.startLockHolder()
	for name, second := range map[string]*site{"the same machine": s, "another machine": s.otherController()} {
		o := second.deployer("run", playbook, "--limit", "h2,h3")
		if o.code != 4 {
			s.t.Errorf("a second run from %s: exit %d, want 4\n%s", name, o.code, o.all())
		}
		s.requireTexts(o.all(), "run "+id+" (run) by ", " holds the lock on h")
	}
	s.must("exec", "h1", "--", "true")
	s.must("run", playbook, "--check")
	for _, h := range webHosts {
		if got := s.shell(h, "cat /run/began; touch /run/go"); got != id {
			s.t.Errorf("%s was changed by run %q, want only %q", h, got, id)
		}
	}
	if o := first.wait(); o.code != 0 {
		s.t.Errorf("the first run: exit %d\n%s", o.code, o.all())
	}
	s.must("run", playbook)
}

// killedController checks that hosts of a killed run stay locked until their step in
// flight has ended, and that the next run waits for that.
func killedController(s *site) {
	first, playbook, id := s.startLockHolder()
	first.kill()
	next := s.otherController().start("run", playbook)
	next.until("waiting for the lock", func(e map[string]any) bool { return e["type"] == "wait" && e["text"] != nil })
	for _, h := range webHosts {
		if got := s.shell(h, "cat /run/began; touch /run/go"); got != id {
			s.t.Errorf("%s was changed by run %q while %q had its lock", h, got, id)
		}
	}
	o := next.wait()
	if o.code != 0 {
		s.t.Errorf("the run after the killed one: exit %d\n%s", o.code, o.all())
	}
	for _, h := range webHosts {
		if got := s.shell(h, "cat /run/ended"); got == id {
			s.t.Errorf("%s: the killed run went on behind its step in flight", h)
		}
	}
}
