package nodedns

import (
	"testing"

	"deployer/tasks/tasktest"
)

// TestWithoutManifest: a host without a cache has no users, and a gate of a revert passes there.
func TestWithoutManifest(t *testing.T) {
	t.Parallel()
	sys := tasktest.New(t)
	out := tasktest.Check(t, sys, &Users{Server: "169.254.20.10", Manifest: "/etc/kubernetes/manifests/node-dns.yaml", Files: []string{"/etc/a"}}).Output
	if len(out["pods"].([]any)) != 0 || len(out["keep"].(map[string]any)) != 0 {
		t.Errorf("%v", out)
	}
	a := &Answers{Server: "127.0.0.1", Reference: "127.0.0.1", Name: "a", Manifest: "/etc/kubernetes/manifests/node-dns.yaml"}
	if change := tasktest.Check(t, sys, a.Gate().(*Answers)); change.Needed {
		t.Error("a revert waits for a cache that is gone")
	}
}
