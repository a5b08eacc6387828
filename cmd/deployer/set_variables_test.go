package main

import "testing"

// TestSetInPlanResumeAndRevert checks that variables of `set` have values in plan,
// apply, resume and revert.
func TestSetInPlanResumeAndRevert(t *testing.T) {
	s := newTestSite(t, 2, map[string]string{
		"site.yaml": `
- hosts: all
  vars: {port: 1, all: []}
  tasks:
    - {set: {port: 80, me: "of {{ host.name }}"}}
    - {set: {all: "{{ concat(all, [item]) }}"}, loop: [a, b]}
    - {set: {boss: "{{ host.name }}"}, run_once: true, when: host.name != "nobody"}
    - file: {path: /output, content: "{{ port }} {{ me }} {{ all }} {{ boss startsWith 'n' }}"}
    - file: {path: "{{ blocked }}/x", content: x}
      when: blocked != ""
- hosts: all
  tasks:
    - file: {path: /later, content: "{{ port }}"}
      throttle: port / 80
`,
	})
	s.writeHostFile(1, "in-the-way", "a file")
	s.deployer(exitFailed, "run", "site.yaml", "-e", "blocked=/in-the-way")
	if got := s.hostFile(1, "later"); got != "-" {
		t.Fatalf("the second play has run: %q", got)
	}
	s.deployer(exitOK, "resume", "-e", "blocked=")
	for host, me := range []string{"n001", "n002"} {
		if got, want := s.hostFile(host, "output"), "80 of "+me+" [\"a\",\"b\"] true"; got != want {
			t.Errorf("it output %q, want %q", got, want)
		}
		if got := s.hostFile(host, "later"); got != "80" {
			t.Errorf("the second play wrote %q", got)
		}
	}
	s.deployer(exitOK, "revert", s.runs()[0].Header.Run, "--yes")
	if got := s.hostFile(0, "later"); got != "-" {
		t.Errorf("not restored: %q", got)
	}
	s.deployer(exitOK, "plan", "run", "site.yaml", "-e", "blocked=", "-o", "plan.json")
	s.deployer(exitOK, "apply", "plan.json")
	if got := s.hostFile(0, "later"); got != "80" {
		t.Errorf("the plan wrote %q", got)
	}
}
