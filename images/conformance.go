package images

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// ConformanceSet is the name of the group of images of the conformance tests, where the
// builder is asked for it.
const ConformanceSet = "conformance"

// The images without which no conformance test runs: that of the tests themselves, and the
// one that nearly all of their pods have.
const (
	ConformanceImage = "conformance"
	AgnhostImage     = "e2e-agnhost"
)

// AddConformance adds the images of the conformance tests of a Kubernetes version to the
// catalogue, and returns them by name with their versions, without an architecture. A version whose
// tests the catalogue does not have is an error.
func (c *Catalogue) AddConformance(kubernetes string) ([]Ref, error) {
	listed := c.Conformance[kubernetes]
	if len(listed) == 0 {
		return nil, fmt.Errorf("the catalogue has no conformance tests of Kubernetes %s; it has those of %s",
			kubernetes, strings.Join(slices.Sorted(maps.Keys(c.Conformance)), ", "))
	}
	var refs []Ref
	for _, name := range slices.Sorted(maps.Keys(listed)) {
		a, version := conformanceArtifact(name, listed[name])
		if !slices.Contains(c.Names(), name) {
			c.Add(a)
		}
		refs = append(refs, Ref{Name: name, Version: version})
	}
	return refs, nil
}

// ConformanceArtifact returns an image of the conformance tests of a Kubernetes version, and its
// version; false when these tests have no such image.
func (c *Catalogue) ConformanceArtifact(name, kubernetes string) (Artifact, string, bool) {
	image, ok := c.Conformance[kubernetes][name]
	if !ok {
		return Artifact{}, "", false
	}
	a, version := conformanceArtifact(name, image)
	return a, version, true
}

// HasConformanceImage reports whether the name is that of an image of the conformance tests of any
// version.
func (c *Catalogue) HasConformanceImage(name string) bool {
	for _, listed := range c.Conformance {
		if _, ok := listed[name]; ok {
			return true
		}
	}
	return false
}

func conformanceArtifact(name, image string) (Artifact, string) {
	repository, version, _ := strings.Cut(image, ":")
	return Artifact{Name: name, Kind: KindImage, Image: repository + ":{version}"}, version
}

// checkConformance checks the images of conformance tests: references with a tag, names that no
// artifact has, and those images that every run needs.
func (c *Catalogue) checkConformance() error {
	var problems []error
	for _, kubernetes := range slices.Sorted(maps.Keys(c.Conformance)) {
		listed := c.Conformance[kubernetes]
		wrong := func(format string, args ...any) {
			problems = append(problems, fmt.Errorf("conformance of %s: "+format, append([]any{kubernetes}, args...)...))
		}
		if c.Releases[kubernetes] == nil {
			wrong("it is not among the releases")
		}
		for _, name := range []string{ConformanceImage, AgnhostImage} {
			if listed[name] == "" {
				wrong("the image %s is missing", name)
			}
		}
		for _, name := range slices.Sorted(maps.Keys(listed)) {
			if slices.Contains(c.Names(), name) {
				wrong("%s is the name of an artifact", name)
			}
			if repository, version, ok := strings.Cut(listed[name], ":"); !ok || !strings.Contains(repository, "/") || strings.Contains(repository, "@") || version == "" || strings.ContainsAny(version, "/:@") {
				wrong("image %s must be registry/name:tag, not %q", name, listed[name])
			}
		}
	}
	return errors.Join(problems...)
}
