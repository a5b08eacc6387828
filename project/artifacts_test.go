package project_test

import (
	"testing"

	"deployer/images"
	"deployer/project"

	"github.com/google/go-cmp/cmp"
)

// TestImageDigests checks that images have the digest of their manifest, which no source
// changes, and that binaries have none.
func TestImageDigests(t *testing.T) {
	inDir(t, map[string]string{"inventory.yaml": cluster})
	p, err := project.LoadCluster("inventory.yaml", project.Options{Agents: agents{}})
	if err != nil {
		t.Fatal(err)
	}
	if got := p.ImageDigests(); len(got) != 0 {
		t.Errorf("digests without a lock file: %v", got)
	}
	for _, ref := range p.Needed {
		pin := images.Pin{Ref: ref, SHA256: "archive"}
		if ref.Name == "coredns" {
			pin.Manifest = "sha256:manifest"
		}
		if ref.Name == "coredns" || ref.Name == "pause" || ref.Name == "kubelet" {
			p.Artifacts.Lock.Put(pin)
		}
	}
	want := map[string]map[string]string{"coredns": {"amd64": "sha256:manifest"}, "pause": {"amd64": "sha256:archive"}}
	if diff := cmp.Diff(want, p.ImageDigests()); diff != "" {
		t.Error(diff)
	}
}
