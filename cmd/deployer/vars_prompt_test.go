package main

import (
	"bytes"
	"os"
	"strings"
	"testing"

	"deployer/engine/journal"
)

// TestVarsPrompt checks that a private answer is used and redacted, and that resume
// prompts for it again.
func TestVarsPrompt(t *testing.T) {
	s := newTestSite(t, 1, map[string]string{"site.yaml": `
- hosts: all
  vars_prompt:
    - {name: word, prompt: the word}
    - {name: release, private: false, default: "1.10"}
  tasks:
    - file: {path: /said, content: "{{ word }} {{ release }}"}
    - file: {path: /in-the-way/x, content: x}
`})
	s.writeHostFile(0, "in-the-way", "a file")
	said := func(code int, answers []string, args ...string) string {
		t.Helper()
		tty := newTerminalUser(t, answers...)
		var out bytes.Buffer
		if got := run(t.Context(), args, tty.File, &out, &out); got != code {
			t.Fatalf("exit code %d, want %d\n%s", got, code, out.String())
		}
		return out.String()
	}
	out := said(exitFailed, []string{"hunter2x", "2.0"}, "run", "site.yaml", "--diff")
	requireTexts(t, out, "the word: ", "release [1.10]: ", "+[secret] 2.0", "deployer resume 2")
	if shown, _ := s.deployer(exitOK, "runs", "show"); strings.Contains(out+shown, "-e word") {
		t.Errorf("what is asked for again is to be given:\n%s%s", out, shown)
	}
	if got := s.hostFile(0, "said"); got != "hunter2x 2.0" {
		t.Errorf("the host has %q", got)
	}
	if err := os.Remove(s.fleet.Hosts[0].Root + "/in-the-way"); err != nil {
		t.Fatal(err)
	}
	s.write(s.fleet.Hosts[0].Root+"/in-the-way/there", "")
	out += said(exitOK, []string{"hunter2x"}, "resume")
	if got := s.hostFile(0, "said"); got != "hunter2x 2.0" {
		t.Errorf("the host has %q", got)
	}
	dir, err := journal.Dir()
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range s.runs() {
		data, err := os.ReadFile(journal.Path(dir, r.Header.Run))
		if err != nil {
			t.Fatal(err)
		}
		out += string(data)
	}
	if strings.Contains(out, "hunter") {
		t.Errorf("the word was shown or written down:\n%s", out)
	}
	_, complaint := s.deployer(exitUsage, "run", "site.yaml")
	requireTexts(t, complaint, "site.yaml:4:14: prompting for word: standard input is not a terminal; set it with -e word=VALUE")
	s.deployer(exitOK, "run", "site.yaml", "-e", "word=given")
	if got := s.hostFile(0, "said"); got != "given 1.10" {
		t.Errorf("the host has %q", got)
	}
}
