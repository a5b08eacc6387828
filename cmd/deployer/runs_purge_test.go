package main

import (
	"strings"
	"testing"
)

const rotated = `
- hosts: all
  tasks:
    - {copy: {dest: /token, content: "TOKEN\n"}, secret: true}
    - {copy: {dest: /motd, content: "TOKEN\n"}}
    - {copy: {dest: /new, content: "TOKEN\n"}, secret: true}
    - name: no key
      absent: {path: /etc/key, secret: true}
`

// TestPurge checks that a purge removes backups of secret steps from hosts, and that a
// revert lists them as irreversible and restores the rest.
func TestPurge(t *testing.T) {
	s := newTestSite(t, 2, map[string]string{"site.yaml": strings.ReplaceAll(rotated, "TOKEN", "second-token")})
	for i := range 2 {
		s.writeHostFile(i, "token", "first-token\n")
		s.writeHostFile(i, "motd", "first-motd\n")
		s.writeHostFile(i, "etc/key", "first-key\n")
	}
	s.deployer(exitOK, "run", "site.yaml")
	run := s.runs()[0].Header.Run
	kept := func(text string) (found int) {
		for i := range 2 {
			for _, content := range filesBelow(t, s.fleet.Hosts[i].Root+"/var/lib/deployer") {
				if strings.Contains(content, text) {
					found++
				}
			}
		}
		return found
	}
	if kept("first-token") != 2 || kept("first-key") != 2 || kept("first-motd") != 2 {
		t.Fatalf("the hosts keep %d tokens, %d keys and %d files", kept("first-token"), kept("first-key"), kept("first-motd"))
	}
	out, _ := s.deployer(exitOK, "runs", "purge", "--check", "-v")
	requireTexts(t, out, "backups of run "+run+": remove: 2 resources can no longer be restored")
	_, complaints := s.deployer(exitRefused, "runs", "purge")
	requireTexts(t, complaints, "nothing was changed: standard input is not a terminal; confirm with --yes")
	if kept("first-token") != 2 {
		t.Fatal("a check, or a refusal, has removed something")
	}
	s.deployer(exitOK, "runs", "purge", "--yes")
	if kept("first-token") != 0 || kept("first-key") != 0 || kept("first-motd") != 2 {
		t.Fatalf("the hosts keep %d tokens, %d keys and %d files", kept("first-token"), kept("first-key"), kept("first-motd"))
	}
	out, _ = s.deployer(exitPartial, "revert", run, "--yes")
	requireTexts(t, out, "/etc/key: deployer runs purge removed its backup", "/token: deployer runs purge removed its backup")
	for i := range 2 {
		if got := s.hostFile(i, "token") + s.hostFile(i, "motd") + s.hostFile(i, "new"); got != "second-token\nfirst-motd\n-" {
			t.Errorf("host %d has %q", i, got)
		}
	}
	s.deployer(exitOK, "runs", "purge", "--all", "--yes")
	if kept("first-motd") != 0 || kept("second-token") != 0 {
		t.Error("a purge of everything leaves something")
	}
}
