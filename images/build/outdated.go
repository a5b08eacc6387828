package build

import (
	"context"
	"fmt"
	"slices"

	"deployer/images"
	"deployer/images/imagefile"
)

// OutdatedPackage is a locked package or base for which apt or the registry now has
// another version.
type OutdatedPackage struct {
	Image string `json:"image"`
	Arch  string `json:"arch"`
	// Package is the name of a Debian package, or the reference of a base in a registry.
	Package string `json:"package"`
	Source  string `json:"source,omitempty"`
	Locked  string `json:"locked"`
	// Offered is what apt or the registry has; empty when it is gone there.
	Offered string `json:"offered"`
	// OnTop lists the images that are built on this one.
	OnTop []string `json:"on_top,omitempty"`
}

// Outdated compares the locked packages of images, and the digests of bases in registries,
// with what is offered. Only options.Names are compared, all without. Images that are not
// in the lock were never built, and are left out.
func Outdated(ctx context.Context, catalogue *images.Catalogue, options Options) ([]OutdatedPackage, error) {
	b, err := newBuilder(ctx, catalogue, options)
	if err != nil {
		return nil, fmt.Errorf("looking for outdated packages: %w", err)
	}
	return b.outdated(ctx)
}

func (b *builder) outdated(ctx context.Context) ([]OutdatedPackage, error) {
	all := []OutdatedPackage{}
	for _, f := range b.images.Files() {
		pins, ok := b.lock.Find(f.Name, b.arch)
		if !ok || len(b.options.Names) > 0 && !slices.Contains(b.options.Names, f.Name) {
			continue
		}
		onTop := b.images.WithDependents(f.Name)[1:]
		differs := func(p OutdatedPackage) {
			p.Image, p.Arch, p.OnTop = f.Name, b.arch, onTop
			all = append(all, p)
		}
		offered, err := b.offered(ctx, pins.Packages)
		if err != nil {
			return nil, fmt.Errorf("image %s: %w", f.Name, err)
		}
		for _, p := range pins.Packages {
			if d := offered[p.Name]; d.SHA256 != p.SHA256 {
				differs(OutdatedPackage{Package: p.Name, Source: p.Source, Locked: p.Version, Offered: d.Version})
			}
		}
		if pins.Base != "" && f.FromRegistry() {
			base, err := b.baseDigest(ctx, f.Base)
			if err != nil {
				return nil, fmt.Errorf("image %s: %w", f.Name, err)
			}
			if base != pins.Base {
				differs(OutdatedPackage{Package: f.Base, Locked: pins.Base, Offered: base})
			}
		}
	}
	return all, nil
}

// offered returns apt's records of the packages, by name.
func (b *builder) offered(ctx context.Context, packages []LockedPackage) (map[string]deb, error) {
	if len(packages) == 0 {
		return nil, nil
	}
	names := make([]string, len(packages))
	for i, p := range packages {
		names[i] = p.Name
	}
	return b.debs.show(ctx, names)
}

// Affected returns the images that a change of packages (binary or source), images or
// bases of registries reaches, with the images on top of them, bases first. A name that
// reaches none is an error.
func Affected(set *imagefile.Set, lock *PackageLock, changed []string) ([]string, error) {
	var reached []string
	for _, name := range changed {
		found := set.Has(name)
		if found {
			reached = append(reached, name)
		}
		for _, f := range set.Files() {
			if f.FromRegistry() && f.Base == name {
				reached, found = append(reached, f.Name), true
			}
		}
		for _, pins := range lock.Images {
			if set.Has(pins.Name) && slices.ContainsFunc(pins.Packages, func(p LockedPackage) bool { return p.matches(name) }) {
				reached, found = append(reached, pins.Name), true
			}
		}
		if !found {
			return nil, fmt.Errorf("%s is neither an image, nor a base, nor a package that %s has for an image: build the images once, or check the name", name, lock.path)
		}
	}
	return set.WithDependents(reached...), nil
}
