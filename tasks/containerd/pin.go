package containerd

import (
	"context"
	"fmt"
	"strings"
)

// labelPinned marks an image that the kubelet does not remove when it frees the
// disk of unused images, with the value "pinned". CRI reads it at each change of
// an image (containerd 2, internal/cri/labels); pinned_images of its
// configuration knows the sandbox's image only.
const labelPinned = "io.cri-containerd.pinned"

// labelSet names the set for which deployer pinned an image, so that it unpins
// nothing that somebody else has pinned.
const labelSet = "deployer/pinned-for"

// PinLabels are the labels of an image that is pinned for a set.
func PinLabels(set string) []string {
	return []string{labelPinned + "=pinned", labelSet + "=" + set}
}

// Pinned lists the names of the images that are pinned for a set.
func (c Client) Pinned(ctx context.Context, set string) (map[string]bool, error) {
	return c.refs(ctx, fmt.Sprintf(`labels.%q==pinned,labels.%q==%q`, labelPinned, labelSet, set))
}

// Pin pins an image for a set.
func (c Client) Pin(ctx context.Context, ref, set string) error {
	_, err := c.Run(ctx, append([]string{"images", "label", ref}, PinLabels(set)...)...)
	return err
}

// Unpin takes both labels from an image. containerd removes a label whose value
// is empty.
func (c Client) Unpin(ctx context.Context, ref string) error {
	_, err := c.Run(ctx, "images", "label", ref, labelPinned+"=", labelSet+"=")
	return err
}

// refs lists the names of the images that a filter of containerd lets through;
// without a filter, of all images.
func (c Client) refs(ctx context.Context, filter ...string) (map[string]bool, error) {
	out, err := c.Run(ctx, append([]string{"images", "ls", "-q"}, filter...)...)
	if err != nil {
		return nil, err
	}
	refs := map[string]bool{}
	for line := range strings.Lines(out) {
		if ref := strings.TrimSpace(line); ref != "" {
			refs[ref] = true
		}
	}
	return refs, nil
}
