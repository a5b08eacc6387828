package observe

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"deployer/engine/agent/undo"
	"deployer/keeper/config"
	"deployer/keeper/world"
	"deployer/tasks/certificate"
)

// TestDrift: files of deployer's directories are compared, except certificates, which the keeper renews.
func TestDrift(t *testing.T) {
	root := t.TempDir()
	var log []byte
	for _, path := range []string{"/etc/kubernetes/manifests/a.yaml", "/etc/kubernetes/manifests/gone.yaml", "/etc/kubernetes/pki/own.crt", "/root/notes"} {
		if err := os.MkdirAll(filepath.Dir(root+path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(root+path, []byte("edited"), 0o644); err != nil {
			t.Fatal(err)
		}
		line, err := json.Marshal(undo.BackupRecord{Step: "s", Kind: "file", Name: path, Left: true, File: &undo.File{Mode: 0o644, UID: os.Getuid(), GID: os.Getgid(), Size: 3}})
		if err != nil {
			t.Fatal(err)
		}
		log = append(append(log, line...), '\n')
	}
	if err := os.Remove(root + "/etc/kubernetes/manifests/gone.yaml"); err != nil {
		t.Fatal(err)
	}
	state := filepath.Join(root, "state")
	if err := os.MkdirAll(state+"/runs/r1", 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(state+"/runs/r1/kept.jsonl", log, 0o600); err != nil {
		t.Fatal(err)
	}
	got, err := Drift(state, root, config.Own{Certificates: []certificate.Want{{CertPath: "/etc/kubernetes/pki/own.crt"}}})
	if err != nil {
		t.Fatal(err)
	}
	want := []world.Drift{
		{Path: "/etc/kubernetes/manifests/a.yaml", Difference: "its content has changed", Run: "r1"},
		{Path: "/etc/kubernetes/manifests/gone.yaml", Difference: "it is gone", Run: "r1"},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}
