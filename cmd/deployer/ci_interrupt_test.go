package main

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// TestInterruptionResult checks the error and the exit code of a run for each number of
// signals.
func TestInterruptionResult(t *testing.T) {
	none, first, second := interruption{}, interruption{first: true}, interruption{first: true, second: errStopped}
	failed := &exitError{exitFailed, errors.New("the run failed")}
	interrupted := &exitError{exitInterrupted, errors.New("interrupted; the next run continues")}
	canceled := fmt.Errorf("reading the repository: %w", context.Canceled)
	broken := errors.New("git has failed")
	for _, c := range []struct {
		name    string
		after   interruption
		run     error
		code    int
		message string
	}{
		{"success", none, nil, exitOK, ""},
		{"success after a signal", first, nil, exitOK, ""},
		{"failure", none, failed, exitFailed, "the run failed"},
		{"an error", none, broken, exitFailed, "git has failed"},
		{"canceled without a signal", none, canceled, exitFailed, "reading the repository: context canceled"},
		{"failure before the signal", first, failed, exitFailed, "the run failed"},
		{"failure before the second signal", second, failed, exitFailed, "the run failed"},
		{"interrupted", first, interrupted, exitInterrupted, "interrupted; the next run continues"},
		{"interrupted twice", second, interrupted, exitInterrupted, errStopped.Error() + " (interrupted; the next run continues)"},
		{"not begun", first, canceled, exitInterrupted, "interrupted: the run had not begun, and nothing was changed"},
		{"not begun, stopped", second, canceled, exitInterrupted, "interrupted: the run had not begun, and nothing was changed"},
		{"an error after a signal", first, broken, exitInterrupted, "interrupted: git has failed"},
		{"an error after two signals", second, broken, exitInterrupted, "interrupted: git has failed"},
	} {
		err, message := c.after.result(c.run), ""
		if err != nil {
			message = err.Error()
		}
		if exitCode(err) != c.code || message != c.message {
			t.Errorf("%s: %q with exit code %d, want %q with %d", c.name, message, exitCode(err), c.message, c.code)
		}
	}
}

// TestCIInterruptedTwice sends two interrupts to a run with a stage that ignores
// SIGTERM: the run ends at once, with the exit code of an interrupt, and its reports
// exist.
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
