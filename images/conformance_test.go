package images

import (
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// TestConformanceImages: each release has the images of its conformance tests, which are artifacts only
// once they are added.
func TestConformanceImages(t *testing.T) {
	c := embeddedCatalogue(t)
	for _, kubernetes := range c.KubernetesVersions() {
		c := embeddedCatalogue(t)
		if slices.Contains(c.Names(), ConformanceImage) {
			t.Error("every cluster would need the conformance tests")
		}
		refs, err := c.AddConformance(kubernetes)
		if err != nil {
			t.Fatal(err)
		}
		for _, ref := range refs {
			a, err := c.Artifact(ref.Name)
			if err != nil || a.ImageName(ref) != c.Conformance[kubernetes][ref.Name] {
				t.Errorf("%s is %s (%v), want %s", ref.Name, a.ImageName(ref), err, c.Conformance[kubernetes][ref.Name])
			}
			if ref.Name == ConformanceImage && ref.Version != kubernetes {
				t.Errorf("%s: the tests are those of %s", kubernetes, ref.Version)
			}
		}
	}
	if _, err := c.AddConformance("v1.30.0"); err == nil || !strings.Contains(err.Error(), "no conformance tests of Kubernetes v1.30.0; it has those of v1.35.4, v1.36.3") {
		t.Error(err)
	}
}

// TestConformanceImagesAreThoseOfTheTests compares the catalogue with the source of the tests, when Go's
// module cache has it.
func TestConformanceImagesAreThoseOfTheTests(t *testing.T) {
	cache, err := exec.CommandContext(t.Context(), "go", "env", "GOMODCACHE").Output()
	if err != nil {
		t.Fatal(err)
	}
	c, found := embeddedCatalogue(t), 0
	for kubernetes, listed := range c.Conformance {
		source, err := os.ReadFile(filepath.Join(strings.TrimSpace(string(cache)), "k8s.io", "kubernetes@"+kubernetes, "test/utils/image/manifest.go"))
		if err != nil {
			continue
		}
		found++
		known := map[string]bool{}
		for _, m := range regexp.MustCompile(`Config\{list\.\w+, "([^"]+)", "([^"]+)"\}`).FindAllStringSubmatch(string(source), -1) {
			known[m[1]+":"+m[2]] = true
		}
		for _, name := range slices.Sorted(maps.Keys(listed)) {
			image := listed[name][strings.LastIndex(listed[name], "/")+1:]
			if name != ConformanceImage && !known[image] {
				t.Errorf("the tests of %s have no image %s (%s)", kubernetes, image, name)
			}
		}
	}
	if found == 0 {
		t.Skip("Go's module cache has no source of Kubernetes")
	}
}

func TestConformanceOfACatalogueIsChecked(t *testing.T) {
	const head = "default: v1\nreleases: {v1: {a: 1}}\nartifacts: [{name: a, kind: image, image: \"x/a:{version}\"}]\nconformance: "
	for conformance, want := range map[string]string{
		"{v2: {conformance: \"r/c:v2\", e2e-agnhost: \"r/a:1\"}}":           "conformance of v2: it is not among the releases",
		"{v1: {conformance: \"r/c:v1\"}}":                                   "the image e2e-agnhost is missing",
		"{v1: {conformance: \"r/c:v1\", e2e-agnhost: r/a}}":                 "image e2e-agnhost must be registry/name:tag",
		"{v1: {conformance: \"r/c:v1\", e2e-agnhost: \"r/a@sha256:1\"}}":    "image e2e-agnhost must be registry/name:tag",
		"{v1: {conformance: \"c:v1\", e2e-agnhost: \"r/a:1\"}}":             "image conformance must be registry/name:tag",
		"{v1: {conformance: \"r/c:v1\", e2e-agnhost: \"r/a:1\", a: r/b:1}}": "a is the name of an artifact",
	} {
		if _, err := ReadCatalogue(strings.NewReader(head + conformance)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: error %v, want %q", conformance, err, want)
		}
	}
}
