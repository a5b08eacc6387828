package images

import (
	"bytes"
	"cmp"
	_ "embed"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/url"
	"slices"
	"strings"

	"gopkg.in/yaml.v3"
)

//go:embed catalogue.yaml
var embedded []byte

// followsKubernetes is the only value Artifact.Follows may have.
const followsKubernetes = "kubernetes"

// Catalogue lists all artifacts that deployer can install on a host.
type Catalogue struct {
	// Default is the default Kubernetes version.
	Default string `yaml:"default"`
	// Releases maps a Kubernetes version to the version of every set, and of every
	// artifact that has no set and does not follow it.
	Releases  map[string]map[string]string `yaml:"releases"`
	Artifacts []Artifact                   `yaml:"artifacts"`
	// Conformance maps a Kubernetes version to the images of its conformance tests: names of
	// artifacts to full references. They are no artifacts until [Catalogue.AddConformance]
	// adds them.
	Conformance map[string]map[string]string `yaml:"conformance"`
}

// Artifact is one entry of the catalogue. Files and archives have URL and Sums,
// images have Image; all three are templates (see [Ref]).
type Artifact struct {
	Name    string `yaml:"name"`
	Kind    Kind   `yaml:"kind"`
	Follows string `yaml:"follows,omitempty"`
	// Set is the set that the artifact belongs to. The artifacts of a set have one
	// version, and only some clusters need them.
	Set string `yaml:"set,omitempty"`
	// URL is the publisher's address, Sums that of the publisher's SHA-256
	// file: either a bare digest or lines of "digest  file name".
	URL  string `yaml:"url,omitempty"`
	Sums string `yaml:"sums,omitempty"`
	// Digests has the SHA-256 of the content by version, where the publisher has no
	// SHA-256 file.
	Digests map[string]string `yaml:"digests,omitempty"`
	// Image is the full image name with its tag.
	Image string `yaml:"image,omitempty"`
	// Chart is the name of a chart in its repository, whose address is URL; empty for one in a
	// registry, whose URL begins with oci://.
	Chart string `yaml:"-"`
	// Members are the paths inside an archive that deployer uses, spelled as
	// in the archive.
	Members []string `yaml:"members,omitempty"`
}

// Embedded returns the catalogue of this build.
func Embedded() (*Catalogue, error) {
	return ReadCatalogue(bytes.NewReader(embedded))
}

// ReadCatalogue decodes a catalogue; unknown keys and incomplete entries are errors.
func ReadCatalogue(r io.Reader) (*Catalogue, error) {
	decoder := yaml.NewDecoder(r)
	decoder.KnownFields(true)
	c := &Catalogue{}
	if err := decoder.Decode(c); err != nil {
		return nil, fmt.Errorf("reading artifact catalogue: %w", err)
	}
	if err := c.check(); err != nil {
		return nil, fmt.Errorf("artifact catalogue: %w", err)
	}
	return c, nil
}

// Add adds artifacts of an inventory to the catalogue.
func (c *Catalogue) Add(artifacts ...Artifact) { c.Artifacts = append(c.Artifacts, artifacts...) }

// KubernetesVersions lists the versions that can be installed, sorted as text.
func (c *Catalogue) KubernetesVersions() []string {
	return slices.Sorted(maps.Keys(c.Releases))
}

// Artifact returns the entry of that name.
func (c *Catalogue) Artifact(name string) (Artifact, error) {
	for _, a := range c.Artifacts {
		if a.Name == name {
			return a, nil
		}
	}
	return Artifact{}, fmt.Errorf("no artifact %q in the catalogue, there are %s", name, strings.Join(c.Names(), ", "))
}

// Names lists the artifacts in catalogue order.
func (c *Catalogue) Names() []string {
	names := make([]string, len(c.Artifacts))
	for i, a := range c.Artifacts {
		names[i] = a.Name
	}
	return names
}

// Sets lists the sets of artifacts in catalogue order.
func (c *Catalogue) Sets() []string {
	var sets []string
	for _, a := range c.Artifacts {
		if a.Set != "" && !slices.Contains(sets, a.Set) {
			sets = append(sets, a.Set)
		}
	}
	return sets
}

// Version returns the version of the named artifact that belongs to a
// Kubernetes version; an empty one means the default.
func (c *Catalogue) Version(name, kubernetes string) (string, error) {
	if kubernetes == "" {
		kubernetes = c.Default
	}
	release, ok := c.Releases[kubernetes]
	if !ok {
		return "", fmt.Errorf("kubernetes %s is not in the catalogue, there are %s",
			kubernetes, strings.Join(c.KubernetesVersions(), ", "))
	}
	a, err := c.Artifact(name)
	if err != nil {
		return "", err
	}
	if a.Follows == followsKubernetes {
		return kubernetes, nil
	}
	return release[a.VersionKey()], nil
}

// VersionKey returns the name under which releases and indexes of directories have the
// artifact's version: that of its set, else its own.
func (a Artifact) VersionKey() string { return cmp.Or(a.Set, a.Name) }

// versionKey returns the version key of the named artifact; that of an artifact which the
// catalogue does not have is its name.
func (c *Catalogue) versionKey(name string) string {
	a, err := c.Artifact(name)
	if err != nil {
		return name
	}
	return a.VersionKey()
}

// ImageName returns the full name with tag of the image on hosts; empty for other
// kinds.
func (a Artifact) ImageName(ref Ref) string { return ref.expand(a.Image) }

// Address returns the publisher's URL of the artifact.
func (a Artifact) Address(ref Ref) string { return ref.expand(a.URL) }

// SumsAddress returns the publisher's URL of its SHA-256.
func (a Artifact) SumsAddress(ref Ref) string { return ref.expand(a.Sums) }

// MemberPaths returns the paths inside the archive, with placeholders replaced.
func (a Artifact) MemberPaths(ref Ref) []string {
	paths := make([]string, len(a.Members))
	for i, m := range a.Members {
		paths[i] = ref.expand(m)
	}
	return paths
}

func (c *Catalogue) check() error {
	var problems []error
	seen := map[string]bool{}
	for _, a := range c.Artifacts {
		if seen[a.Name] {
			problems = append(problems, fmt.Errorf("artifact %s is listed twice", a.Name))
		}
		seen[a.Name] = true
		problems = append(problems, a.check())
	}
	keys := map[string]bool{}
	for _, a := range c.Artifacts {
		if a.Set != "" && seen[a.Set] {
			problems = append(problems, fmt.Errorf("artifact %s: the set %s has the name of an artifact", a.Name, a.Set))
		}
		keys[a.VersionKey()] = true
	}
	if _, ok := c.Releases[c.Default]; !ok {
		problems = append(problems, fmt.Errorf("default %s is not among the releases", c.Default))
	}
	for _, kubernetes := range c.KubernetesVersions() {
		problems = append(problems, c.checkRelease(kubernetes, keys))
	}
	problems = append(problems, c.checkConformance())
	return errors.Join(problems...)
}

func (c *Catalogue) checkRelease(kubernetes string, known map[string]bool) error {
	var problems []error
	release := c.Releases[kubernetes]
	for _, name := range slices.Sorted(maps.Keys(release)) {
		if !known[name] {
			problems = append(problems, fmt.Errorf("release %s: no artifact %s", kubernetes, name))
		}
	}
	for _, a := range c.Artifacts {
		if a.Follows == "" && release[a.VersionKey()] == "" {
			problems = append(problems, fmt.Errorf("release %s: no version for %s", kubernetes, a.Name))
		}
		if a.Follows != "" && release[a.Name] != "" {
			problems = append(problems, fmt.Errorf("release %s: %s follows kubernetes and takes no version", kubernetes, a.Name))
		}
	}
	return errors.Join(problems...)
}

func (a Artifact) check() error {
	if a.Follows != "" && a.Set != "" {
		return fmt.Errorf("artifact %s: follows and set exclude each other", a.Name)
	}
	if a.Follows != "" && a.Follows != followsKubernetes {
		return fmt.Errorf("artifact %s: follows %q, only %q can be followed", a.Name, a.Follows, followsKubernetes)
	}
	switch a.Kind {
	case KindFile, KindArchive:
		if err := a.checkAddresses(); err != nil {
			return err
		}
		if a.Kind == KindArchive && len(a.Members) == 0 {
			return fmt.Errorf("artifact %s: an archive must name its members", a.Name)
		}
	case KindImage:
		if !strings.Contains(a.Image, ":{version}") {
			return fmt.Errorf("artifact %s: image must end in :{version}, not %q", a.Name, a.Image)
		}
	default:
		return fmt.Errorf("artifact %s: unknown kind %q", a.Name, a.Kind)
	}
	return nil
}

// checkAddresses checks the addresses of a file or an archive, and its digests.
func (a Artifact) checkAddresses() error {
	addresses := []string{a.URL, a.Sums}
	if len(a.Digests) > 0 {
		if a.Sums != "" {
			return fmt.Errorf("artifact %s: sums and digests exclude each other", a.Name)
		}
		addresses = addresses[:1]
	}
	for _, address := range addresses {
		if u, err := url.Parse(address); err != nil || u.Scheme == "" || u.Host == "" {
			return fmt.Errorf("artifact %s: url and sums must be full addresses, not %q", a.Name, address)
		}
	}
	for _, version := range slices.Sorted(maps.Keys(a.Digests)) {
		if !isDigest(a.Digests[version]) {
			return fmt.Errorf("artifact %s: the digest of %s is not a SHA-256 in lower-case hex", a.Name, version)
		}
	}
	return nil
}
