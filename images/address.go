package images

import "strings"

// LayoutPath is where the artifact lies in a mirror and in a directory source,
// relative and with slashes: the publisher's address with the host as first
// path element. An image lies at its name, in a file named by tag and arch.
func (a Artifact) LayoutPath(ref Ref) string {
	if a.Kind == KindImage {
		return strings.TrimSuffix(a.Image, ":{version}") + "/" + ref.Version + "-" + ref.Arch + ".tar"
	}
	return mirrorPath(a.Address(ref))
}

// mirrorPath moves the host of an address into the first path element:
// https://dl.k8s.io/release/x becomes dl.k8s.io/release/x.
func mirrorPath(address string) string {
	_, rest, found := strings.Cut(address, "://")
	if !found {
		return address
	}
	return rest
}
