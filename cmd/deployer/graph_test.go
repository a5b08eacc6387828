package main

import (
	"encoding/xml"
	"errors"
	"io"
	"os"
	"strings"
	"testing"
)

// TestGraph draws a playbook of the user and an install, without any host.
func TestGraph(t *testing.T) {
	t.Chdir(t.TempDir())
	write := func(name, text string) {
		t.Helper()
		if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	write("inventory.yaml", `
cluster: {name: lab, kubernetes: v1.36.3}
hosts:
  m[1:3]: {address: "10.0.0.[1:3]"}
  n[1:2]: {address: "10.0.1.[1:2]"}
roles: {master: ["m[1:3]"], minion: ["n[1:2]"]}
`)
	write("site.yaml", `
- name: minions
  hosts: minion
  tasks:
    - {name: first, command: {argv: ["true"]}, label: ready}
    - {name: second, command: {argv: ["true"]}, needs: [ready], tags: [late]}
`)
	graph := func(code int, args ...string) string {
		t.Helper()
		var out, complaints strings.Builder
		if got := run(t.Context(), append([]string{"graph"}, args...), strings.NewReader(""), &out, &complaints); got != code {
			t.Fatalf("graph %s: exit code %d, want %d\n%s", strings.Join(args, " "), got, code, complaints.String())
		}
		return out.String() + complaints.String()
	}
	requireTexts(t, graph(exitOK, "site.yaml", "--format", "mermaid"), "flowchart TB", "minions (minion: n[1:2])", "first [label #quot;ready#quot;]", "needs #quot;ready#quot; on all hosts")
	if got := graph(exitOK, "site.yaml", "--format", "dot", "--tags", "late"); strings.Contains(got, "first") || !strings.Contains(got, "second") {
		t.Errorf("with --tags:\n%s", got)
	}
	install := graph(exitOK)
	requireTexts(t, install, "<svg", "examine all hosts", "rollout", "apiserver-ready", "m[1:3]")
	for in := xml.NewDecoder(strings.NewReader(install)); ; {
		if _, err := in.Token(); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			t.Fatal(err)
		}
	}
	if folded := graph(exitOK, "--fold"); len(folded) >= len(install) {
		t.Errorf("--fold: %d bytes, without it %d", len(folded), len(install))
	}
	requireTexts(t, graph(exitUsage, "--format", "png"), "want one of svg, dot, mermaid")
	requireTexts(t, graph(exitUsage, "missing.yaml"), "missing.yaml")
}
