//go:build lab

package harness

import (
	"bytes"
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// Outcome is the exit code and the output of a command.
type Outcome struct {
	Code           int
	Stdout, Stderr string
}

// All returns standard output and standard error.
func (o Outcome) All() string { return o.Stdout + o.Stderr }

// Binary returns the path of the deployer under test, which the Makefile builds. Tests
// run in their package's directory, two below the root.
func Binary(t *testing.T) string {
	t.Helper()
	path, err := filepath.Abs("../../bin/deployer")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(path); err != nil {
		t.Fatalf("%v: run `make build` first", err)
	}
	return path
}

// DeployerCommand returns a deployer command on the site's inventory, in the network
// namespace of the controller.
func (s *Site) DeployerCommand(ctx context.Context, args ...string) *exec.Cmd {
	argv := append([]string{Binary(s.T)}, args...)
	if !slices.Contains([]string{"apply", "runs"}, args[0]) {
		argv = slices.Insert(argv, 2, "-i", s.Inventory)
	}
	return s.command(ctx, argv)
}

func (s *Site) command(ctx context.Context, argv []string) *exec.Cmd {
	cmd := s.Command(ctx, argv...)
	cmd.Env = append(os.Environ(), "XDG_STATE_HOME="+s.State)
	return cmd
}

// Deployer runs a deployer command on the site's inventory, for at most 15 minutes.
func (s *Site) Deployer(args ...string) Outcome {
	s.T.Helper()
	ctx, cancel := context.WithTimeout(s.T.Context(), 15*time.Minute)
	defer cancel()
	return s.run(s.DeployerCommand(ctx, args...), args)
}

// Run runs a deployer command without -i, for at most 15 minutes.
func (s *Site) Run(args ...string) Outcome {
	s.T.Helper()
	ctx, cancel := context.WithTimeout(s.T.Context(), 15*time.Minute)
	defer cancel()
	return s.run(s.command(ctx, append([]string{Binary(s.T)}, args...)), args)
}

func (s *Site) run(cmd *exec.Cmd, args []string) Outcome {
	s.T.Helper()
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	start := time.Now()
	err := cmd.Run()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		s.T.Fatalf("running deployer %v: %v", args, err)
	}
	s.T.Logf("deployer %s: exit %d in %.1fs", strings.Join(args, " "), cmd.ProcessState.ExitCode(), time.Since(start).Seconds())
	return Outcome{cmd.ProcessState.ExitCode(), stdout.String(), stderr.String()}
}

// Must runs a deployer command and ends the test unless the exit code is 0.
func (s *Site) Must(args ...string) Outcome {
	s.T.Helper()
	o := s.Deployer(args...)
	if o.Code != 0 {
		s.T.Fatalf("deployer %s: exit %d\n%s", strings.Join(args, " "), o.Code, o.All())
	}
	return o
}

// RequireExit checks the exit code of a command.
func (s *Site) RequireExit(o Outcome, want int) {
	s.T.Helper()
	if o.Code != want {
		s.T.Errorf("exit %d, want %d\n%s", o.Code, want, o.All())
	}
}

// RequireTexts checks that an output contains texts.
func (s *Site) RequireTexts(text string, want ...string) {
	s.T.Helper()
	for _, w := range want {
		if !strings.Contains(text, w) {
			s.T.Errorf("the output does not say %q:\n%s", w, text)
		}
	}
}
