//go:build lab

package e2e

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"deployer/test/harness"
	"deployer/test/lab/plan"
)

// TestRestrictedHosts installs as a user with sudo, on hosts with noisy shell start-up
// files and a /tmp without execution; one host is behind the other as its bastion, and
// its sudo needs a password.
func TestRestrictedHosts(t *testing.T) {
	s := newSite(t, plan.Spec{Masters: 1, Minions: 1})
	for _, h := range []string{"m1", "n1"} {
		s.Shell(h, "mount -t tmpfs -o noexec,nosuid tmpfs /tmp")
		for _, file := range []string{"/home/ops/.bashrc", "/home/ops/.profile", "/home/pw/.bashrc", "/etc/bash.bashrc"} {
			s.Shell(h, fmt.Sprintf(`sed -i '1i echo "Welcome to %s, have a nice day"; echo "this host is noisy" >&2' %s 2>/dev/null || printf 'echo Welcome\necho noisy >&2\n' > %s`, h, file, file))
		}
	}
	s.Edit(func(inv map[string]any) {
		ssh := harness.Section(inv, "ssh")
		ssh["user"], ssh["become"] = "ops", "sudo"
		behind := harness.Section(inv, "hosts", "n1", "ssh")
		behind["user"], behind["become_password_env"] = "pw", "LAB_SUDO_PASSWORD"
		behind["bastion"] = map[string]any{"host": "m1"}
	})
	t.Setenv("LAB_SUDO_PASSWORD", "lab-password")
	o := s.Must("install", "-v", "-v")
	noSecrets(t, s, o)
	s.Must("verify")
}

// noSecrets searches the output of an install and its files on the controller for the
// keys of the cluster.
func noSecrets(t *testing.T, s *site, o harness.Outcome) {
	journals, err := filepath.Glob(filepath.Join(s.State, "deployer", "runs", "*"))
	if err != nil || len(journals) == 0 {
		t.Fatalf("no journal in %s: %v", s.State, err)
	}
	texts := map[string]string{"output": o.All()}
	for _, path := range journals {
		content, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		texts[path] = string(content)
	}
	secrets := []string{"PRIVATE KEY", "lab-password"}
	for _, file := range []string{"/etc/kubernetes/pki/ca.key", "/etc/kubernetes/pki/sa.key", "/etc/kubernetes/encryption.yaml"} {
		for line := range strings.Lines(s.Shell("m1", "cat "+file)) {
			if line = strings.TrimSpace(line); strings.HasPrefix(line, "secret:") || len(line) == 64 {
				secrets = append(secrets, strings.TrimSpace(strings.TrimPrefix(line, "secret:")))
			}
		}
	}
	if len(secrets) < 5 {
		t.Fatalf("found only %d secrets to look for", len(secrets))
	}
	for name, text := range texts {
		for _, secret := range secrets {
			if strings.Contains(text, secret) {
				t.Errorf("%s holds a secret (%.8s...)", name, secret)
			}
		}
	}
}
