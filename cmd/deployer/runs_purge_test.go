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
`

// TestPurge checks that a purge removes backups of secret steps from hosts, and that a
// revert lists them as irreversible and restores the rest.
func TestPurge(t *testing.T) {
	y := newYard(t, 2, map[string]string{"site.yaml": strings.ReplaceAll(rotated, "TOKEN", "second-token")})
	for i := range 2 {
		y.put(i, "token", "first-token\n")
		y.put(i, "motd", "first-motd\n")
	}
	y.deployer(exitOK, "run", "site.yaml")
	run := y.runs()[0].Header.Run
	kept := func(text string) (found int) {
		for i := range 2 {
			for _, content := range filesBelow(t, y.fleet.Hosts[i].Root+"/var/lib/deployer") {
				if strings.Contains(content, text) {
					found++
				}
			}
		}
		return found
	}
	if kept("first-token") != 2 || kept("first-motd") != 2 {
		t.Fatalf("the hosts keep %d tokens and %d files", kept("first-token"), kept("first-motd"))
	}
	out, _ := y.deployer(exitOK, "runs", "purge", "--check", "-v")
	says(t, out, "backups of run "+run+": remove: 1 resources can no longer be restored")
	_, complaints := y.deployer(exitRefused, "runs", "purge")
	says(t, complaints, "nothing was changed: standard input is not a terminal; confirm with --yes")
	if kept("first-token") != 2 {
		t.Fatal("a check, or a refusal, has removed something")
	}
	y.deployer(exitOK, "runs", "purge", "--yes")
	if kept("first-token") != 0 || kept("first-motd") != 2 {
		t.Fatalf("the hosts keep %d tokens and %d files", kept("first-token"), kept("first-motd"))
	}
	out, _ = y.deployer(exitPartial, "revert", run, "--yes")
	says(t, out, "/token: deployer runs purge removed its backup")
	for i := range 2 {
		if got := y.on(i, "token") + y.on(i, "motd") + y.on(i, "new"); got != "second-token\nfirst-motd\n-" {
			t.Errorf("host %d has %q", i, got)
		}
	}
	y.deployer(exitOK, "runs", "purge", "--all", "--yes")
	if kept("first-motd") != 0 || kept("second-token") != 0 {
		t.Error("a purge of everything leaves something")
	}
}
