package main

import (
	"os"
	"strings"
	"testing"
)

// TestRunsShowOfAnInventory: -i shows the last run of that inventory, although another one ran
// later, and refuses an inventory without a run.
func TestRunsShowOfAnInventory(t *testing.T) {
	s := newTestSite(t, 1, map[string]string{"site.yaml": `
- hosts: all
  tasks:
    - {name: one, file: {path: /one, content: x}}
`})
	s.deployer(exitOK, "run", "site.yaml")
	first := s.runs()[0].Header
	text, err := os.ReadFile(first.Invocation.Inventory)
	if err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{"second.yaml": string(text), "third.yaml": "hosts: {lost: {address: 127.0.0.1, port: 1}}\n"} {
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	s.deployer(exitOK, "run", "site.yaml", "-i", "second.yaml")
	second := s.runs()[0].Header.Run
	for inventory, want := range map[string]string{first.Invocation.Inventory: first.Run, "second.yaml": second, "": second} {
		args := []string{"runs", "show"}
		if inventory != "" {
			args = append(args, "-i", inventory)
		}
		if shown, _ := s.deployer(exitOK, args...); !strings.HasPrefix(shown, "run "+want) {
			t.Errorf("-i %q shows %.60q, want run %s", inventory, shown, want)
		}
	}
	if _, stderr := s.deployer(exitUsage, "runs", "show", "-i", "third.yaml"); !strings.Contains(stderr, "there is no run of third.yaml") {
		t.Errorf("an inventory without a run: %s", stderr)
	}
}
