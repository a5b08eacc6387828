package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// evil is text of a compromised host: it clears the screen, sets the title of the
// window and turns the direction of text.
const evil = "\x1b[2J\x1b]0;owned\x07\u202egnp.exe"

// TestHostileTextIsSanitized checks that no view and no log passes escape sequences of a
// host to the terminal.
func TestHostileTextIsSanitized(t *testing.T) {
	s := newTestSite(t, 2, map[string]string{"site.yaml": `
- hosts: all
  max_fail: {all: 100%}
  tasks:
    - file: {path: /motd, content: "new\n"}
    - command: {argv: [cat, "EVIL"]}
      register: output
    - debug: {msg: "{{ output.stdout }} {{ facts.os_name }} {{ facts.hostname }}"}
    - name: "called {{ output.stdout }}"
      command: {argv: [sh, -c, "cat EVIL >&2; cat EVIL; exit 3"]}
`})
	marker := filepath.Join(t.TempDir(), "evil")
	s.write(marker, evil+"\nplain\n")
	site, err := os.ReadFile("site.yaml")
	if err != nil {
		t.Fatal(err)
	}
	s.write("site.yaml", strings.ReplaceAll(string(site), "EVIL", marker))
	for i := range 2 {
		s.writeHostFile(i, "motd", "old "+evil+"\n")
		s.writeHostFile(i, "etc/os-release", "ID=debian\nVERSION_ID=12\nPRETTY_NAME=\"Debian "+evil+"\"\n")
		s.writeHostFile(i, "var/lib/deployer/runs/x"+evil+"/journal.jsonl", evil)
	}
	output := map[string]string{}
	note := func(code int, args ...string) {
		out, complaints := s.deployer(code, args...)
		output[strings.Join(args, " ")] = out + complaints
	}
	note(exitOK, "exec", "all", "--", "cat "+marker)
	note(exitOK, "exec", "all", "-o", "json", "--", "cat "+marker)
	note(exitOK, "facts", "all", "-o", "json")
	note(exitOK, "facts", "all")
	note(exitOK, "plan", "run", "site.yaml", "-o", "plan.json")
	note(exitFailed, "run", "site.yaml", "-vv", "--diff")
	note(exitFailed, "run", "site.yaml", "-o", "json")
	note(exitOK, "runs", "show", "-v")
	note(exitOK, "runs", "list")
	note(exitOK, "revert", s.runs()[1].Header.Run, "--check", "--diff")
	for _, dir := range []string{"state", "cache"} {
		for name, text := range filesBelow(t, dir) {
			output[name] = text
		}
	}
	output["plan.json"] = filesBelow(t, ".")["plan.json"]
	plain := 0
	for where, text := range output {
		for _, form := range []string{"\x1b", "\x07", "\u202e", `\u001b`, `\u0007`, `\u202e`, `\x1b`} {
			if i := strings.Index(text, form); i >= 0 {
				t.Errorf("%s has %q: ...%q", where, form, text[max(0, i-80):min(len(text), i+40)])
			}
		}
		if strings.Contains(text, "plain") {
			plain++
		}
	}
	if plain < 4 {
		t.Errorf("what the hosts output is in %d of %d texts", plain, len(output))
	}
}

// filesBelow reads all files below a directory.
func filesBelow(t *testing.T, dir string) map[string]string {
	t.Helper()
	out := map[string]string{}
	err := filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		if os.IsNotExist(err) {
			return nil
		}
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		data, err := os.ReadFile(path)
		out[path] = string(data)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}
