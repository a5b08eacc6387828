package main

import (
	"strings"
	"testing"
)

// TestCompletion requests completions as the scripts of `deployer completion` do.
func TestCompletion(t *testing.T) {
	s := newTestSite(t, 2, map[string]string{"site.yaml": `
- hosts: all
  tasks:
    - {name: motd, file: {path: /motd, content: x}}
    - {name: late, file: {path: /late/motd, content: x}}
`})
	s.writeHostFile(0, "late/here", "")
	s.site.MaxFail = map[string]string{"all": "1"}
	s.writeInventory()
	s.deployer(exitPartial, "run", "site.yaml")
	s.deployer(exitOK, "run", "site.yaml", "--limit", "n001")
	runs := s.runs()
	done, partial := runs[0].Header.Run, runs[1].Header.Run
	proposed := func(args ...string) string {
		t.Helper()
		out, _ := s.deployer(exitOK, append([]string{"__complete"}, args...)...)
		lines := strings.Split(strings.TrimSpace(out), "\n")
		return strings.Join(lines[:len(lines)-1], " ") // the last one is a number for the shell
	}
	for _, tt := range []struct {
		args []string
		want string
	}{
		{[]string{"exec", "n"}, "n001 n002"},
		{[]string{"exec", "all,!n001,"}, "all,!n001,all all,!n001,n001 all,!n001,n002"},
		{[]string{"exec", "-i", "nowhere.yaml", "n"}, ""},
		{[]string{"facts", "n001", ""}, ""},
		{[]string{"run", "site.yaml", "--limit", "n002"}, "n002"},
		{[]string{"resume", ""}, partial + "\trun site.yaml, partly done"},
		{[]string{"runs", "show", ""}, done + "\trun site.yaml, done " + partial + "\trun site.yaml, partly done"},
		{[]string{"runs", "tail", partial}, partial + "\trun site.yaml, partly done"},
		{[]string{"revert", done}, done + "\trun site.yaml, done"},
	} {
		if got := proposed(tt.args...); got != tt.want {
			t.Errorf("%q: %q, want %q", tt.args, got, tt.want)
		}
	}
}
