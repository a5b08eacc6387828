package main

import (
	"bytes"
	"errors"
	"fmt"
	"regexp"
	"strings"
	"testing"
)

// TestRevisionsGiveNoCommands assesses revisions whose names are lines that GitHub takes for
// commands: only the annotations of deployer are commands, and the step may give commands after it.
func TestRevisionsGiveNoCommands(t *testing.T) {
	s := newCISite(t)
	s.sh("", "git checkout -q -b evil")
	s.write("work/inventory.yaml", "cluster: {name: \"lab\\n::add-mask::evil\"}\nhosts: {m1: {address: 10.0.0.1}}\nroles: {master: m1}\n", 0o644)
	s.sh("", "git commit -qam evil && git checkout -q main && git checkout -q -b linked")
	s.sh("", "ln -s /etc/hostname \"$(printf 'x\\n::error::of-a-file')\" && git add . && git commit -qm linked && git checkout -q main")
	for _, verb := range []string{"validate", "plan"} {
		for _, revision := range []string{"evil", "linked", "\"$(printf 'none\\n::error::of-an-argument')\""} {
			out := s.sh("", "( \"$REAL\" ci "+verb+" --old main --new "+revision+" && echo '::notice::accepted' || echo '::notice::refused' ) 2>&1", "GITHUB_ACTIONS=true")
			if verb == "validate" && !strings.HasPrefix(out, "::stop-commands::") {
				t.Fatalf("the output does not begin with the stop of commands:\n%s", out)
			}
			stopped, commands := "", []string{}
			for line := range strings.Lines(out) {
				line = strings.TrimSuffix(line, "\n")
				switch next, is := strings.CutPrefix(line, "::stop-commands::"); {
				case stopped != "" && line == "::"+stopped+"::":
					stopped = ""
				case stopped == "" && is:
					stopped = next
				case stopped == "" && strings.HasPrefix(line, "::"):
					commands = append(commands, line)
				}
			}
			if last := commands[len(commands)-1]; stopped != "" || last != "::notice::refused" {
				t.Errorf("%s of %s: commands are stopped after the step: %q\n%s", verb, revision, last, out)
			}
			for _, line := range commands[:len(commands)-1] {
				if !strings.HasPrefix(line, "::error title=deployer ") {
					t.Errorf("%s of %s: a command that is not deployer's: %q\n%s", verb, revision, line, out)
				}
			}
		}
	}
}

// TestOutputOfAJobIsOneStream: messages of a job that may have texts of hosts go the way of the lines
// that stop and allow commands; elsewhere they go to standard error.
func TestOutputOfAJobIsOneStream(t *testing.T) {
	for job, want := range map[string][2]string{"true": {"message\ndeployer: failed\n", ""}, "": {"", "message\n"}} {
		t.Setenv("GITHUB_ACTIONS", job)
		var stdout, stderr bytes.Buffer
		err := (&ciOptions{}).quoting(env{stdout: &stdout, stderr: &stderr}, func(e env) error {
			fmt.Fprintln(e.stderr, "message")
			return errors.New("failed")
		})
		text := regexp.MustCompile(`(?m)^::.*\n`).ReplaceAllString(stdout.String(), "")
		if err == nil || text != want[0] || stderr.String() != want[1] {
			t.Errorf("GITHUB_ACTIONS=%q: standard output %q, standard error %q, %v", job, stdout.String(), stderr.String(), err)
		}
	}
}
