package main

import "testing"

// TestRunContactsHostsOfPlays checks that a run counts and contacts only hosts that a
// play names.
func TestRunContactsHostsOfPlays(t *testing.T) {
	s := newTestSite(t, 3, map[string]string{"site.yaml": "- hosts: n001\n  tasks: [debug: {msg: x}]\n- hosts: n002\n  tasks: [debug: {msg: x}]\n"})
	for want, args := range map[string][]string{"site.yaml, 2 hosts, run ": nil, "site.yaml, 1 host, run ": {"--limit", "n002,n003"}} {
		out, _ := s.deployer(exitOK, append([]string{"run", "site.yaml"}, args...)...)
		requireTexts(t, out, want)
	}
}
