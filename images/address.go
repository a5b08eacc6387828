package images

import "strings"

// LayoutPath returns the path of the artifact in a mirror and in a directory source,
// relative and with slashes: the publisher's URL with the host as first path
// element. The path of an image is its name, and the file is named after tag and
// architecture.
func (a Artifact) LayoutPath(ref Ref) string {
	if a.Kind == KindImage {
		return strings.TrimSuffix(a.Image, ":{version}") + "/" + ref.Version + "-" + ref.Arch + ".tar"
	}
	return mirrorPath(a.Address(ref))
}

// Repository returns the full name of an image without tag; empty for other kinds.
func (a Artifact) Repository() string { return strings.TrimSuffix(a.Image, ":{version}") }

// mirrorPath moves the host of a URL into the first path element:
// https://dl.k8s.io/release/x becomes dl.k8s.io/release/x.
func mirrorPath(address string) string {
	_, rest, found := strings.Cut(address, "://")
	if !found {
		return address
	}
	return rest
}
