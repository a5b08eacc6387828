package project

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/hashicorp/go-multierror"

	"deployer/images"
)

// listConformanceImages adds the images of the conformance tests to the artifacts that the project
// needs.
func (p *Project) listConformanceImages() error {
	refs, err := p.Artifacts.Catalogue.AddConformance(p.Cluster.Versions.Kubernetes)
	if err != nil {
		return err
	}
	p.conformance = refs
	for _, ref := range refs {
		p.images[ref.Name] = p.imageName(ref.Name, ref.Version)
		for _, arch := range p.architectures {
			p.Needed = append(p.Needed, images.Ref{Name: ref.Name, Version: ref.Version, Arch: arch})
		}
	}
	return nil
}

// isOptional reports whether the project can do without an artifact: an image that only some
// conformance tests need. Nodes with a registry pull it themselves.
func (p *Project) isOptional(ref images.Ref) bool {
	return ref.Name != images.ConformanceImage && ref.Name != images.AgnhostImage &&
		slices.ContainsFunc(p.conformance, func(c images.Ref) bool { return c.Name == ref.Name && c.Version == ref.Version })
}

// fetchOptional fetches the artifacts that the project can do without. Those that cannot be fetched are
// no longer needed, and MissingImages names them with the first reason.
func (p *Project) fetchOptional(ctx context.Context, onProgress func(images.Progress)) error {
	var missing []string
	var reason error
	for _, ref := range slices.Clone(p.Needed) {
		if !p.isOptional(ref) {
			continue
		}
		err := p.Artifacts.Fetch(ctx, []images.Ref{ref}, onProgress)
		if ctx.Err() != nil {
			return err
		}
		if err != nil {
			p.Needed = slices.DeleteFunc(p.Needed, func(n images.Ref) bool { return n == ref })
			missing, reason = append(missing, p.imageName(ref.Name, ref.Version)), cmp.Or(reason, firstOf(err))
		}
	}
	if len(missing) > 0 {
		p.MissingImages = fmt.Sprintf("not delivered: %s (%v); tests with them fail on nodes that cannot pull them", strings.Join(missing, ", "), reason)
	}
	return nil
}

// firstOf returns the first of several errors.
func firstOf(err error) error {
	var several *multierror.Error
	if errors.As(err, &several) && len(several.Errors) > 0 {
		return several.Errors[0]
	}
	return err
}

// DropUnpinnedImages leaves out images of conformance tests that have never been fetched, such as those
// that the source does not offer.
func (p *Project) DropUnpinnedImages() {
	p.Needed = slices.DeleteFunc(p.Needed, func(ref images.Ref) bool {
		_, pinned := p.Artifacts.Lock.Pin(ref)
		return p.isOptional(ref) && !pinned
	})
}

// ConformanceImages returns the images that nodes get for the pods of conformance tests, as the
// variable conformance_images has them; empty when Options.Conformance is not set.
func (p *Project) ConformanceImages() []any {
	out := []any{}
	for _, ref := range p.conformance {
		needed := slices.ContainsFunc(p.Needed, func(n images.Ref) bool { return n.Name == ref.Name && n.Version == ref.Version })
		if ref.Name != images.ConformanceImage && needed {
			out = append(out, map[string]any{"name": ref.Name, "version": ref.Version})
		}
	}
	return out
}

// SetConformanceImages sets conformance_images and conformance_missing, which are known when the
// images are fetched. The call must happen before the first task is rendered.
func (v *Variables) SetConformanceImages(list []any, missing string) {
	v.shared["conformance_images"], v.shared["conformance_missing"] = list, missing
}
