//go:build lab

package images

import (
	"bytes"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"deployer/test/harness"
	"deployer/test/lab/plan"
)

// TestMain removes labs of killed test processes.
func TestMain(m *testing.M) {
	harness.SweepLabs()
	os.Exit(m.Run())
}

// site is a cluster whose artifacts come from a directory of the test.
type site struct {
	*harness.Site
	artifacts string
}

// TestImages installs a cluster, debugs its hosts, and rolls out images that were built anew.
func TestImages(t *testing.T) {
	s := site{harness.New(t, "images", plan.Spec{Masters: 1, Minions: 1}), filepath.Join(t.TempDir(), "artifacts")}
	if err := os.CopyFS(s.artifacts, os.DirFS(s.Files.Artifacts())); err != nil {
		t.Fatal(err)
	}
	s.Edit(func(inv map[string]any) { harness.Section(inv, "artifacts")["source"] = s.artifacts })
	s.Must("install")
	t.Run("debug", func(t *testing.T) { debugged(s.on(t)) })
	t.Run("rebuilt", func(t *testing.T) { rebuilt(s.on(t)) })
}

// on returns the same site for a subtest.
func (s site) on(t *testing.T) site { return site{s.On(t), s.artifacts} }

// images runs a verb of deployer images on the directory of the test: outside of the lab's
// network, as builds fetch packages and modules.
func (s site) images(verb string, args ...string) harness.Outcome {
	s.T.Helper()
	cmd := exec.CommandContext(s.T.Context(), harness.Binary(s.T), append([]string{"images", verb, "--dir", s.artifacts}, args...)...)
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	var exit *exec.ExitError
	if err := cmd.Run(); err != nil && !errors.As(err, &exit) {
		s.T.Fatal(err)
	}
	o := harness.Outcome{Code: cmd.ProcessState.ExitCode(), Stdout: stdout.String(), Stderr: stderr.String()}
	if o.Code != 0 {
		s.T.Fatalf("deployer %s: exit %d\n%s", strings.Join(cmd.Args[1:], " "), o.Code, o.All())
	}
	return o
}
