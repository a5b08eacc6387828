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

	"github.com/google/go-cmp/cmp"
)

// TestConformanceImages: only a project with the option needs the images of conformance tests. Fetch does
// without those that the source does not have, except for the ones that every test needs.
func TestConformanceImages(t *testing.T) {
	load := func(source string, conformance bool) *project.Project {
		inDir(t, map[string]string{"inventory.yaml": "artifacts: {source: " + source + "}\n" + cluster})
		p, err := project.LoadCluster("inventory.yaml", project.Options{Agents: agents{}, Conformance: conformance})
		if err != nil {
			t.Fatal(err)
		}
		return p
	}
	named := func(p *project.Project) (out []string) {
		for _, ref := range p.Needed {
			if ref.Name == "conformance" || strings.HasPrefix(ref.Name, "e2e-") {
				out = append(out, ref.Name+" "+ref.Version)
			}
		}
		slices.Sort(out)
		return out
	}
	if got := named(load("upstream", false)); got != nil {
		t.Errorf("needed are %q", got)
	}
	p := load("upstream", true)
	all := named(p)
	if len(all) < 9 || all[0] != "conformance v1.36.3" || all[1] != "e2e-agnhost 2.63.0" {
		t.Errorf("needed are %q", all)
	}
	v, err := p.Variables()
	if err != nil {
		t.Fatal(err)
	}
	if got := v.ForHost("m1")["images"].(map[string]any)["conformance"]; got != "registry.k8s.io/conformance:v1.36.3" {
		t.Errorf("images.conformance is %v", got)
	}

	source := t.TempDir()
	offer := func(names ...string) {
		index := images.Index{}
		for _, ref := range p.Needed {
			if !slices.Contains(names, ref.Name) {
				continue
			}
			sum := sha256.Sum256([]byte(ref.Name))
			if err := os.WriteFile(filepath.Join(source, ref.Name), []byte(ref.Name), 0o644); err != nil {
				t.Fatal(err)
			}
			index.Put(images.IndexEntry{Ref: ref, Kind: images.KindImage, File: ref.Name, SHA256: hex.EncodeToString(sum[:]), Size: int64(len(ref.Name))})
		}
		if err := index.Write(source); err != nil {
			t.Fatal(err)
		}
	}
	onlyTests := func(p *project.Project) {
		p.Needed = slices.DeleteFunc(p.Needed, func(ref images.Ref) bool {
			return ref.Name != "conformance" && !strings.HasPrefix(ref.Name, "e2e-")
		})
	}
	offer("conformance", "e2e-agnhost", "e2e-dns")
	p = load(source, true)
	onlyTests(p)
	if err := p.Fetch(t.Context(), nil); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"conformance v1.36.3", "e2e-agnhost 2.63.0", "e2e-dns 2.0.0"}, named(p)); diff != "" {
		t.Error(diff)
	}
	want := []any{map[string]any{"name": "e2e-agnhost", "version": "2.63.0"}, map[string]any{"name": "e2e-dns", "version": "2.0.0"}}
	if diff := cmp.Diff(want, p.ConformanceImages()); diff != "" {
		t.Error(diff)
	}
	if strings.Count(p.MissingImages, "registry.k8s.io/") != len(all)-3 || !strings.HasPrefix(p.MissingImages, "not delivered: registry.k8s.io/e2e-test-images/agnhost:2.55, ") || !strings.Contains(p.MissingImages, "holds no e2e-agnhost-previous 2.55 amd64); tests with them fail") {
		t.Errorf("missing are %q", p.MissingImages)
	}

	offer("conformance", "e2e-dns")
	p = load(source, true)
	onlyTests(p)
	if err := p.Fetch(t.Context(), nil); err == nil || !strings.Contains(err.Error(), "holds no e2e-agnhost") {
		t.Errorf("without agnhost: %v", err)
	}
	p.DropUnpinnedImages()
	if diff := cmp.Diff([]string{"conformance v1.36.3", "e2e-agnhost 2.63.0"}, named(p)); diff != "" {
		t.Error(diff)
	}
}
