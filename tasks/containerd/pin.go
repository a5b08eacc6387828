package containerd

import (
	"context"
	"strings"
)

// labelPinned marks an image that the kubelet does not remove when it frees the
// disk of unused images, with the value "pinned". CRI reads it at each change of
// an image (containerd 2, internal/cri/labels); pinned_images of its
// configuration knows the sandbox's image only.
const labelPinned = "io.cri-containerd.pinned"

// labelSet names the set for which deployer pinned an image, so that deployer does not unpin
// images that others have pinned.
const labelSet = "deployer/pinned-for"

// PinLabels returns the labels of an image that is pinned for a set.
func PinLabels(set string) []string {
	return []string{labelPinned + "=pinned", labelSet + "=" + set}
}

// pinnedFor reads the set from labels as ctr lists them: KEY=VALUE with commas
// between, or "-".
func pinnedFor(labels string) string {
	var set string
	pinned := false
	for label := range strings.SplitSeq(labels, ",") {
		switch key, value, _ := strings.Cut(label, "="); key {
		case labelPinned:
			pinned = value == "pinned"
		case labelSet:
			set = value
		}
	}
	if !pinned {
		return ""
	}
	return set
}

// Pin pins an image for a set.
func (c Client) Pin(ctx context.Context, ref, set string) error {
	_, err := c.Run(ctx, append([]string{"images", "label", ref}, PinLabels(set)...)...)
	return err
}

// Unpin removes both labels from an image. containerd removes a label whose value
// is empty.
func (c Client) Unpin(ctx context.Context, ref string) error {
	_, err := c.Run(ctx, "images", "label", ref, labelPinned+"=", labelSet+"=")
	return err
}
