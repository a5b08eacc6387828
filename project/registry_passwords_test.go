package project_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"deployer/project"
)

// TestRegistryPasswordFile reads the password of a registry from a file beside the
// inventory; it becomes a secret.
func TestRegistryPasswordFile(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("DEPLOYER_CACHE", t.TempDir())
	write := func(name, content string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	inventory := func(credentials string) string {
		return write("inventory.yaml", "cluster:\n  containerd:\n    credentials:\n      registry.example:5000: "+credentials+
			"\nhosts: {m1: {address: 10.0.0.1}}\nroles: {master: m1}\n")
	}
	write("token", "t0ken\nnote\n")
	write("empty", "\n")
	p, err := project.LoadCluster(inventory("{username: robot, password_file: token}"), project.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if got := p.Cluster.Containerd.Credentials; len(got) != 1 || got[0].Password != "t0ken" || !slices.Contains(p.Inventory.Secrets(), "t0ken") {
		t.Errorf("credentials %+v, secrets %v", got, p.Inventory.Secrets())
	}
	for credentials, want := range map[string]string{
		"{username: robot, password_file: missing}":            "missing: no such file",
		"{username: robot, password_file: empty}":              "first line is empty",
		"{username: robot, password_file: token, password: x}": "exclude each other",
		"{username: robot, password: in-the-clear}":            "would be visible",
		"{username: robot, password_file: token, pasword: x}":  "pasword",
		"{username: 'a:b', password_file: token}":              "colon",
	} {
		_, err := project.LoadCluster(inventory(credentials), project.Options{})
		if err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), "inventory.yaml:4:") {
			t.Errorf("%s: %v, want %q at inventory.yaml:4", credentials, err, want)
		}
		if err != nil && (strings.Contains(err.Error(), "t0ken") || strings.Contains(err.Error(), "in-the-clear")) {
			t.Errorf("%s: the error has the password: %v", credentials, err)
		}
	}
}
