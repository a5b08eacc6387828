package containerd

import (
	"context"
	"strings"
)

// Image is a name of an image and the digest of its content. An image may have
// several names; CRI adds one of the form sha256:ID.
type Image struct {
	Ref, Digest string
	PinnedFor   string // the set for which Pin has pinned it; empty without one
}

// Images lists all names of images. Each call starts ctr, so a caller asks once
// for everything that it wants to know.
func (c Client) Images(ctx context.Context) ([]Image, error) {
	out, err := c.Run(ctx, "images", "ls")
	if err != nil {
		return nil, err
	}
	return parseImages(out), nil
}

// parseImages reads the table of ctr images ls: REF, TYPE, DIGEST, more, and LABELS
// as its last column.
func parseImages(out string) []Image {
	var images []Image
	for line := range strings.Lines(out) {
		if f := strings.Fields(line); len(f) > 3 && strings.HasPrefix(f[2], "sha256:") {
			images = append(images, Image{Ref: f[0], Digest: f[2], PinnedFor: pinnedFor(f[len(f)-1])})
		}
	}
	return images
}

// Forget removes names of images. Content that has no name left is collected by
// containerd.
func (c Client) Forget(ctx context.Context, refs ...string) error {
	_, err := c.Run(ctx, append([]string{"images", "rm"}, refs...)...)
	return err
}
