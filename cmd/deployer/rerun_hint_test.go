package main

import (
	"strings"
	"testing"
)

// TestRerunHint checks that the hint after a check repeats the check, without values
// that look like secrets.
func TestRerunHint(t *testing.T) {
	s := newTestSite(t, 1, map[string]string{"site.yaml": `
- hosts: all
  tasks:
    - {name: motd, file: {path: /motd, content: "{{ token }}{{ release }}"}}
    - {name: boom, fail: {msg: not today}}
`})
	out, _ := s.deployer(exitRefused, "run", "site.yaml", "--check", "-e", "token=hunter2", "-e", "release=7", "-e", "{password: hunter2}")
	requireTexts(t, out, "nothing was changed; after fixing the cause, run:", "deployer run site.yaml -i inventory.yaml --check -e token=... -e release=7 -e '{...}'")
	if strings.Contains(out, "hunter2") {
		t.Errorf("it tells a secret:\n%s", out)
	}
}

// TestRerunHintOfApply checks that the hint of an apply whose check failed names the
// plan, not the playbook.
func TestRerunHintOfApply(t *testing.T) {
	s := newTestSite(t, 1, map[string]string{"site.yaml": `
- hosts: all
  tasks:
    - {name: motd, file: {path: /motd/text, content: hello}}
`})
	s.writeHostFile(0, "motd/here", "")
	s.deployer(exitOK, "plan", "run", "site.yaml", "-o", "plan.json")
	s.writeHostFile(0, "motd/text/here", "a directory is in the way")
	out, _ := s.deployer(exitRefused, "apply", "plan.json")
	requireTexts(t, out, "after fixing the cause, run:", "deployer apply plan.json")
}
