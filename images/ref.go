package images

import (
	"cmp"
	"fmt"
	"strings"
)

// Kind is the form of an artifact on disk.
type Kind string

const (
	// KindFile is one executable, used as it is.
	KindFile Kind = "file"
	// KindArchive is a gzip-compressed tar as its publisher ships it.
	KindArchive Kind = "archive"
	// KindImage is one container image for one platform, kept as a tar in OCI
	// image layout that `ctr -n k8s.io images import` takes.
	KindImage Kind = "image"
	// KindChart is a chart of Helm, a gzip-compressed tar. No catalogue has charts: inventories
	// name them.
	KindChart Kind = "chart"
)

// Ref names one artifact exactly. Arch is in Go's spelling: amd64, arm64.
type Ref struct {
	Name    string `yaml:"name" json:"name"`
	Version string `yaml:"version" json:"version"`
	Arch    string `yaml:"arch" json:"arch"`
}

// String is for messages: "kubelet v1.36.3 amd64".
func (r Ref) String() string { return r.Name + " " + r.Version + " " + r.Arch }

// Compare orders refs by name, version and architecture, as text.
func (r Ref) Compare(o Ref) int {
	return cmp.Or(cmp.Compare(r.Name, o.Name), cmp.Compare(r.Version, o.Version), cmp.Compare(r.Arch, o.Arch))
}

// check returns an error for a ref that could leave a directory or break a URL.
func (r Ref) check() error {
	for _, part := range []string{r.Name, r.Version, r.Arch} {
		if part == "" || strings.ContainsAny(part, "/\\ \t\n?#%{}") || strings.HasPrefix(part, ".") {
			return fmt.Errorf("artifact %q: name, version and arch must be plain words", r)
		}
	}
	return nil
}

// expand replaces the placeholders of a catalogue template.
func (r Ref) expand(template string) string {
	return strings.NewReplacer(
		"{version}", r.Version,
		"{number}", strings.TrimPrefix(r.Version, "v"),
		"{arch}", r.Arch,
	).Replace(template)
}
