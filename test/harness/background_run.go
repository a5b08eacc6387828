//go:build lab

package harness

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"time"
)

// BackgroundRun is a deployer that runs beside the test.
type BackgroundRun struct {
	s      *Site
	args   []string
	cmd    *exec.Cmd
	lines  *bufio.Scanner
	said   bytes.Buffer // on stdout, so far
	stderr bytes.Buffer
	end    context.CancelFunc
}

// StartRun starts a deployer with JSON events as output, for at most 15 minutes.
func (s *Site) StartRun(args ...string) *BackgroundRun {
	s.T.Helper()
	ctx, cancel := context.WithTimeout(s.T.Context(), 15*time.Minute)
	u := &BackgroundRun{s: s, args: args, cmd: s.DeployerCommand(ctx, append(args, "--output", "json")...), end: cancel}
	u.cmd.Stderr = &u.stderr
	out, err := u.cmd.StdoutPipe()
	if err == nil {
		err = u.cmd.Start()
	}
	if err != nil {
		s.T.Fatal(err)
	}
	u.lines = bufio.NewScanner(out)
	u.lines.Buffer(nil, 16<<20)
	s.T.Cleanup(cancel)
	return u
}

// Until reads events up to the first for which fits returns true.
func (u *BackgroundRun) Until(what string, fits func(map[string]any) bool) {
	u.s.T.Helper()
	for u.lines.Scan() {
		fmt.Fprintf(&u.said, "%s\n", u.lines.Text())
		var e map[string]any
		if err := json.Unmarshal(u.lines.Bytes(), &e); err != nil {
			u.s.T.Fatalf("not a JSON line: %q: %v", u.lines.Text(), err)
		}
		if fits(e) {
			return
		}
	}
	o := u.Wait()
	u.s.T.Fatalf("deployer %v ended with %d before it came to %s:\n%s", u.args, o.Code, what, o.All())
}

// Step reads events up to the beginning or end of a step, on any host when host is
// empty.
func (u *BackgroundRun) Step(kind, host, name string) {
	u.s.T.Helper()
	u.Until(fmt.Sprintf("%s of %q on %s", kind, name, host), func(e map[string]any) bool {
		return e["type"] == kind && e["name"] == name && (host == "" || e["host"] == host)
	})
}

// Wait waits for the end of the command.
func (u *BackgroundRun) Wait() Outcome {
	u.s.T.Helper()
	for u.lines.Scan() {
		fmt.Fprintf(&u.said, "%s\n", u.lines.Text())
	}
	_ = u.cmd.Wait() // the exit code tells
	u.end()
	return Outcome{u.cmd.ProcessState.ExitCode(), u.said.String(), u.stderr.String()}
}

// Interrupt sends SIGINT and waits for the end of the command.
func (u *BackgroundRun) Interrupt() Outcome {
	u.s.T.Helper()
	if err := u.cmd.Process.Signal(os.Interrupt); err != nil {
		u.s.T.Fatal(err)
	}
	return u.Wait()
}

// KillAt reads events up to the first for which fits returns true, and kills the
// command then. It returns false when the command has ended before; its exit code
// must be 0 or one of the others.
func (u *BackgroundRun) KillAt(fits func(map[string]any) bool, others ...int) bool {
	u.s.T.Helper()
	for u.lines.Scan() {
		fmt.Fprintf(&u.said, "%s\n", u.lines.Text())
		var e map[string]any
		if err := json.Unmarshal(u.lines.Bytes(), &e); err != nil {
			u.s.T.Fatalf("not a JSON line: %q: %v", u.lines.Text(), err)
		}
		if fits(e) {
			_ = u.cmd.Process.Kill() // the process may have ended meanwhile
			u.Wait()
			return true
		}
	}
	if o := u.Wait(); o.Code != 0 && !slices.Contains(others, o.Code) {
		u.s.T.Fatalf("deployer %v: exit %d\n%s", u.args, o.Code, o.All())
	}
	return false
}

// Kill kills the command with SIGKILL.
func (u *BackgroundRun) Kill() {
	u.s.T.Helper()
	if err := u.cmd.Process.Kill(); err != nil {
		u.s.T.Fatal(err)
	}
	if o := u.Wait(); o.Code != -1 {
		u.s.T.Fatalf("deployer %v had ended with %d before it was killed:\n%s", u.args, o.Code, o.All())
	}
}

// KillAfter runs a command and kills it with SIGKILL after a time. It returns the exit
// code: -1 when the command was killed, as the program that enters the lab's network
// becomes the command.
func (s *Site) KillAfter(after time.Duration, args ...string) int {
	s.T.Helper()
	cmd := s.DeployerCommand(s.T.Context(), args...)
	if err := cmd.Start(); err != nil {
		s.T.Fatal(err)
	}
	timer := time.AfterFunc(after, func() { _ = cmd.Process.Kill() })
	_ = cmd.Wait() // the exit code tells
	timer.Stop()
	s.T.Logf("deployer %s, to be killed after %s: exit %d", strings.Join(args, " "), after.Round(time.Millisecond), cmd.ProcessState.ExitCode())
	return cmd.ProcessState.ExitCode()
}

// KillAtOutput runs deployer and kills it when its output contains a text.
func (s *Site) KillAtOutput(said string, args ...string) {
	s.T.Helper()
	ctx, cancel := context.WithTimeout(s.T.Context(), 3*time.Minute)
	defer cancel()
	cmd := s.DeployerCommand(ctx, args...)
	seen := &outputWatcher{text: said, seen: make(chan struct{})}
	cmd.Stdout = seen
	if err := cmd.Start(); err != nil {
		s.T.Fatal(err)
	}
	select {
	case <-seen.seen:
	case <-ctx.Done():
	}
	_ = cmd.Process.Kill()
	if err := cmd.Wait(); err == nil || ctx.Err() != nil {
		s.T.Fatalf("deployer never said %q, or was not killed: %v\n%s", said, err, seen.all.String())
	}
}

// outputWatcher closes a channel when its input contains a text.
type outputWatcher struct {
	text string
	all  bytes.Buffer
	once sync.Once
	seen chan struct{}
}

// Write implements io.Writer.
func (s *outputWatcher) Write(p []byte) (int, error) {
	s.all.Write(p)
	if strings.Contains(s.all.String(), s.text) {
		s.once.Do(func() { close(s.seen) })
	}
	return len(p), nil
}
