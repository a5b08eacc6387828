package image

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"deployer/engine"
	"deployer/tasks/containerd"
)

// pinChange lists the images to pin and to unpin, sorted.
type pinChange struct{ add, drop []string }

// labels are the labels that an import sets on its images.
func (i *Import) labels() []string {
	if i.Pin == "" {
		return nil
	}
	return containerd.PinLabels(i.Pin)
}

// pins compares the pinned images with those of the task. An import pins its own images;
// while one is outstanding its names are unknown, so nothing is unpinned.
func (i *Import) pins(sys engine.System, s state) pinChange {
	if i.Pin == "" || !s.answers {
		return pinChange{}
	}
	wanted, whole := map[string]bool{}, true
	for _, t := range i.Images {
		refs := s.refs(sys, t)
		whole = whole && len(refs) > 0
		for _, ref := range refs {
			wanted[ref] = true
		}
	}
	change := pinChange{add: without(wanted, s.pinned)}
	if whole {
		change.drop = without(s.pinned, wanted)
	}
	return change
}

// without returns the members of a set that another one does not have, sorted.
func without(set, other map[string]bool) []string {
	return slices.DeleteFunc(slices.Sorted(maps.Keys(set)), func(ref string) bool { return other[ref] })
}

// apply pins and unpins.
func (p pinChange) apply(ctx context.Context, c containerd.Client, set string) error {
	for _, ref := range p.add {
		if err := c.Pin(ctx, ref, set); err != nil {
			return fmt.Errorf("pinning image %s: %w", ref, err)
		}
	}
	for _, ref := range p.drop {
		if err := c.Unpin(ctx, ref); err != nil {
			return fmt.Errorf("unpinning image %s: %w", ref, err)
		}
	}
	return nil
}
