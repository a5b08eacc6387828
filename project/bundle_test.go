package project_test

import (
	"crypto/sha256"
	"encoding/hex"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"deployer/images"
	"deployer/project"
)

// TestBundleReplacesTheSource: a bundle replaces the inventory's source. Its versions
// are those of the cluster, and it has every artifact that the cluster needs, on a
// machine without store and lock file.
func TestBundleReplacesTheSource(t *testing.T) {
	inDir(t, map[string]string{"inventory.yaml": cluster})
	t.Setenv("XDG_CACHE_HOME", t.TempDir())
	p, err := project.LoadCluster("inventory.yaml", project.Options{Agents: agents{}})
	if err != nil {
		t.Fatal(err)
	}
	source := t.TempDir()
	index := images.Index{Versions: map[string]string{"haproxy": "2.6.12-1"}}
	for _, ref := range p.Needed {
		if ref.Name == "haproxy" {
			ref.Version = "2.6.12-1"
		}
		a, err := p.Artifacts.Catalogue.Artifact(ref.Name)
		if err != nil {
			t.Fatal(err)
		}
		sum := sha256.Sum256([]byte(ref.String()))
		if err := os.WriteFile(filepath.Join(source, ref.Name), []byte(ref.String()), 0o644); err != nil {
			t.Fatal(err)
		}
		kind := a.Kind
		index.Put(images.IndexEntry{Ref: ref, Kind: kind, File: ref.Name, SHA256: hex.EncodeToString(sum[:]), Size: int64(len(ref.String()))})
	}
	if err := index.Write(source); err != nil {
		t.Fatal(err)
	}
	inDir(t, map[string]string{"inventory.yaml": "artifacts: {source: " + source + "}\n" + cluster})
	if p, err = project.LoadCluster("inventory.yaml", project.Options{Agents: agents{}}); err != nil {
		t.Fatal(err)
	}
	// The archives of the test are not valid, so only files and images are fetched.
	archives := func(ref images.Ref) bool {
		return slices.Contains([]string{"etcd", "containerd", "cni-plugins"}, ref.Name)
	}
	refs := slices.DeleteFunc(slices.Clone(p.Needed), archives)
	if err := p.Artifacts.Fetch(t.Context(), refs, nil); err != nil {
		t.Fatal(err)
	}
	bundle := filepath.Join(t.TempDir(), "site.bundle")
	file, err := os.Create(bundle)
	if err != nil {
		t.Fatal(err)
	}
	if err := p.Artifacts.WriteBundle(t.Context(), file, refs); err != nil {
		t.Fatal(err)
	}
	if err := file.Close(); err != nil {
		t.Fatal(err)
	}
	if err := os.RemoveAll(source); err != nil {
		t.Fatal(err)
	}

	inDir(t, map[string]string{"inventory.yaml": cluster})
	t.Setenv("XDG_CACHE_HOME", t.TempDir())
	if p, err = project.LoadCluster("inventory.yaml", project.Options{Agents: agents{}, Bundle: bundle}); err != nil {
		t.Fatal(err)
	}
	if i := slices.IndexFunc(p.Needed, func(ref images.Ref) bool { return ref.Name == "haproxy" }); p.Needed[i].Version != "2.6.12-1" {
		t.Errorf("the cluster has haproxy %s", p.Needed[i].Version)
	}
	refs = slices.DeleteFunc(slices.Clone(p.Needed), archives)
	if err := p.Artifacts.Fetch(t.Context(), refs, nil); err != nil {
		t.Fatal(err)
	}
	for _, ref := range refs {
		blob, err := p.Artifacts.Resolve(t.Context(), ref)
		if err != nil {
			t.Fatal(err)
		}
		if content, err := os.ReadFile(blob.Path); err != nil || string(content) != ref.String() {
			t.Errorf("%s is %q (%v)", ref, content, err)
		}
	}
	_, err = project.LoadCluster("inventory.yaml", project.Options{Agents: agents{}, Bundle: bundle + ".missing"})
	if err == nil || !strings.Contains(err.Error(), "opening bundle") {
		t.Errorf("error is %v", err)
	}
}
