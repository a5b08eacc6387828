package images

import (
	"context"
	"deployer/resumable"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// Source is a place that artifacts come from. Implementations are safe for
// concurrent use and never verify content: the reader does.
type Source interface {
	// String names the source in messages.
	String() string
	// Versions returns the versions of artifacts that the source has instead of those
	// of the catalogue, by the name of the artifact or of its set. Versions may return nil.
	Versions() map[string]string
	// Offer returns the digest that the publisher states for the artifact,
	// without its content. An offer has SHA256, or Manifest for images, or
	// both; a source that cannot state one returns an error.
	Offer(ctx context.Context, a Artifact, ref Ref) (Offer, error)
	// Open returns the content that was offered or pinned, from offset in bytes if
	// the source supports that. Content.Offset is the actual start.
	Open(ctx context.Context, a Artifact, ref Ref, want Offer, offset int64) (resumable.Content, error)
}

// Offer is a publisher's description of an artifact.
type Offer struct {
	// SHA256 of the file in hex; empty for images of a registry, whose archive
	// is made on the way.
	SHA256 string
	// Manifest is the manifest digest of an image, sha256:....
	Manifest string
	// Address is the address of the content; it never holds credentials.
	Address string
}

// OpenSource returns the source for a setting of the inventory: "upstream" or empty,
// an http or https URL of a mirror, or the path of a directory or a bundle; a relative
// path starts at dir. logins are the credentials of registries and mirrors.
func OpenSource(spec, dir string, logins Logins) (Source, error) {
	switch {
	case spec == "" || spec == "upstream":
		return NewUpstream(logins), nil
	case strings.HasPrefix(spec, "http://"), strings.HasPrefix(spec, "https://"):
		return NewMirror(spec, logins)
	case strings.Contains(spec, "://"):
		return nil, fmt.Errorf("artifact source %q: neither upstream, nor an http or https address, nor a directory", spec)
	}
	if rest, ok := strings.CutPrefix(spec, "~/"); ok {
		home, err := os.UserHomeDir()
		if err != nil {
			return nil, fmt.Errorf("artifact source %q: %w", spec, err)
		}
		spec = filepath.Join(home, rest)
	}
	if !filepath.IsAbs(spec) {
		spec = filepath.Join(dir, spec)
	}
	if info, err := os.Stat(spec); err == nil && info.Mode().IsRegular() {
		return OpenBundle(spec, "")
	}
	return NewDirectory(spec)
}
