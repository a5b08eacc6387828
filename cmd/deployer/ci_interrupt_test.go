package main

import (
	"bufio"
	"bytes"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// TestCIInterruptedTwice sends two interrupts to a run with a stage that ignores SIGTERM: the
// run ends at once, with the exit code of an interrupt, and its reports are there.
func TestCIInterruptedTwice(t *testing.T) {
	s := newCISite(t)
	end := filepath.Join(s.root, "end")
	t.Cleanup(func() { _ = os.WriteFile(end, nil, 0o600) })
	s.write("work/deployer.ci.yaml", `stages: {wait: {command: [sh, -c, 'trap "" TERM; echo started; while [ ! -e "$END" ]; do sleep 0.05; done']}}`+"\n", 0o644)
	s.sh("", "git add . && git commit -qm stage")
	cmd := exec.CommandContext(t.Context(), filepath.Join(s.root, "real", "deployer"), "ci", "run", "--new", "HEAD", "--reports", "reports")
	cmd.Dir = filepath.Join(s.root, "work")
	cmd.Env = append(os.Environ(), "HOME="+s.root, "END="+end, "GIT_CONFIG_GLOBAL="+filepath.Join(s.root, "gitconfig"), "GIT_CONFIG_SYSTEM=/dev/null")
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	messages, err := cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	waitFor := func(lines *bufio.Scanner, text string) {
		t.Helper()
		for lines.Scan() {
			if strings.Contains(lines.Text(), text) {
				return
			}
		}
		t.Fatalf("the output ended without %q", text)
	}
	interrupt := func() {
		t.Helper()
		if err := cmd.Process.Signal(syscall.SIGINT); err != nil {
			t.Fatal(err)
		}
	}
	lines, errorLines := bufio.NewScanner(out), bufio.NewScanner(messages)
	waitFor(lines, "started")
	interrupt()
	waitFor(errorLines, "interrupt again to stop now")
	interrupt()
	waitFor(errorLines, "stopped by a second interrupt")
	for lines.Scan() { //nolint:revive // the rest of the output
	}
	var exit *exec.ExitError
	if err := cmd.Wait(); !errors.As(err, &exit) || exit.ExitCode() != exitInterrupted {
		t.Errorf("the run ended with %v, want exit code %d", err, exitInterrupted)
	}
	record, err := os.ReadFile(filepath.Join(s.root, "work", "reports", "report.json"))
	if err != nil || !bytes.Contains(record, []byte(`"interrupted"`)) {
		t.Errorf("report: %s, %v", record, err)
	}
}
