package pipeline

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"deployer/engine/redact"
)

// TestLongLineHidesSecrets: no position of a secret in a line without end lets the
// secret pass in two parts.
func TestLongLineHidesSecrets(t *testing.T) {
	const secret = "qwertyuiop12"
	for _, length := range []int{64<<10 - 6, 1<<20 - 6} {
		var out bytes.Buffer
		w := &maskedWriter{to: &out, secrets: redact.NewSet(secret)}
		for _, part := range []string{strings.Repeat("x", length), secret[:6], secret[6:], " behind\nnext line\nlast"} {
			if _, err := w.Write([]byte(part)); err != nil {
				t.Fatal(err)
			}
		}
		w.Flush()
		got := strings.TrimLeft(out.String(), "x")
		for i := 0; i+4 <= len(secret); i++ {
			if strings.Contains(got, secret[i:i+4]) {
				t.Errorf("secret after %d bytes: a part passed: %q", length, got)
				break
			}
		}
		if !strings.Contains(got, "\nnext line\nlast") {
			t.Errorf("lines are missing: %q", got)
		}
	}
}

// TestStreamsDoNotShareLines: parts of lines that a command writes to its two streams
// in turn are not joined.
func TestStreamsDoNotShareLines(t *testing.T) {
	const secret = "qwertyuiop12"
	var out bytes.Buffer
	p := &Pipeline{Options: Options{State: t.TempDir()}, secrets: redact.NewSet(secret), console: &lockedWriter{to: &out}}
	script := `n=0; while [ $n -lt 300 ]; do printf "out qwerty"; printf "err " >&2; printf "uiop12 end\n"; printf "end\n" >&2; n=$((n+1)); done; exit 3`
	sh := Program{Path: "/bin/sh", Name: "sh"}
	_, err := p.execute(t.Context(), p.newJob("stage", "", nil), command{program: sh, args: []string{"-c", script}, dir: t.TempDir()})
	if exitCodeOf(err) != 3 {
		t.Fatal(err)
	}
	log, readErr := os.ReadFile(filepath.Join(p.Reports(), "stage.log"))
	if readErr != nil {
		t.Fatal(readErr)
	}
	_, lines, _ := strings.Cut(out.String(), "\n") // the command has the parts too
	_, tail, _ := strings.Cut(err.Error(), "exit code 3")
	for _, text := range []string{lines, string(log), tail} {
		if strings.Contains(text, "qwerty") || strings.Contains(text, "uiop12") {
			t.Fatalf("a part of the secret passed:\n%s", text)
		}
	}
	if n := strings.Count(string(log), "err end\n"); n != 300 {
		t.Errorf("%d whole lines of 300", n)
	}
}
