//go:build lab

// Package harness has the common parts of the scenarios on real hosts: a lab with an
// inventory, the deployer under test in the lab's network, its output as values, and
// queries of the hosts and the cluster. An error in the harness ends the calling
// test.
package harness

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"gopkg.in/yaml.v3"

	"deployer/test/lab/lab"
	"deployer/test/lab/plan"
)

// Site is a lab with an inventory, and the deployer binary under test.
type Site struct {
	*lab.Lab
	T         *testing.T // the test or subtest that is charged with failures
	Inventory string     // path of the inventory that commands use
	State     string     // XDG_STATE_HOME of commands: where deployer keeps its journals

	api, etcd *identity // of the prober
}

// New boots hosts for a scenario and removes them at its end. The lab is named after
// kind, the test and this process. Packages are additional Debian packages of the hosts.
func New(t *testing.T, kind string, spec plan.Spec, packages ...string) *Site {
	t.Helper()
	// The number keeps runs of several checkouts apart.
	spec.Name = fmt.Sprintf("%s-%s-%d", kind, strings.ToLower(strings.NewReplacer("/", "-", "_", "-").Replace(strings.TrimPrefix(t.Name(), "Test"))), os.Getpid())
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	keep := os.Getenv("DEPLOYER_KEEP_LAB") != ""
	l, err := lab.Up(ctx, spec, lab.Options{Tied: !keep, Packages: packages})
	if err != nil {
		t.Fatalf("booting the hosts: %v", err)
	}
	s := &Site{Lab: l, T: t, api: &identity{}, etcd: &identity{}}
	t.Cleanup(func() {
		if keep && t.Failed() {
			t.Logf("kept lab %s", l.Name)
			return
		}
		if err := l.Down(context.WithoutCancel(t.Context())); err != nil {
			t.Errorf("removing the hosts: %v", err)
		}
	})
	s.Inventory = filepath.Join(t.TempDir(), "inventory.yaml")
	s.State = t.TempDir()
	s.Edit(func(map[string]any) {})
	return s
}

// On returns the same site for a subtest.
func (s *Site) On(t *testing.T) *Site {
	part := *s
	part.T = t
	return &part
}

// OtherController returns the same site for another controller, which has no logs of
// this one.
func (s *Site) OtherController() *Site {
	other := *s
	other.State = s.T.TempDir()
	return &other
}

// Edit writes the lab's inventory with the changes of f, and uses it from now on.
func (s *Site) Edit(f func(inv map[string]any)) {
	s.T.Helper()
	from := s.Inventory
	if _, err := os.Stat(from); err != nil {
		from = s.Files.Inventory()
	}
	raw, err := os.ReadFile(from)
	if err != nil {
		s.T.Fatal(err)
	}
	var inv map[string]any
	if err := yaml.Unmarshal(raw, &inv); err != nil {
		s.T.Fatal(err)
	}
	f(inv)
	out, err := yaml.Marshal(inv)
	if err != nil {
		s.T.Fatal(err)
	}
	if err := os.WriteFile(s.Inventory, out, 0o600); err != nil {
		s.T.Fatal(err)
	}
}

// Section returns a nested map, created if it is missing.
func Section(m map[string]any, path ...string) map[string]any {
	for _, key := range path {
		next, ok := m[key].(map[string]any)
		if !ok {
			next = map[string]any{}
			m[key] = next
		}
		m = next
	}
	return m
}
