package image

import (
	"context"
	"fmt"
	"slices"

	"deployer/engine"
	"deployer/tasks/containerd"
)

// pinChange is what a set of pinned images lacks and has too much, sorted.
type pinChange struct{ add, drop []string }

// labels are those that an import gives to its images.
func (i *Import) labels() []string {
	if i.Pin == "" {
		return nil
	}
	return containerd.PinLabels(i.Pin)
}

// pins compares the images that are pinned for the set with those of the task.
// An image that is not imported yet is pinned by its import; as long as there is
// one, its names are unknown and so nothing is unpinned.
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

// without returns the names of all that some lacks, sorted.
func without(all, some map[string]bool) []string {
	var out []string
	for ref := range all {
		if !some[ref] {
			out = append(out, ref)
		}
	}
	slices.Sort(out)
	return out
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
