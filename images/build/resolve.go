package build

import (
	"context"
	"fmt"
	"slices"

	"deployer/images/imagefile"
)

// certificatesPackage is the package of the certificate authorities.
const certificatesPackage = "ca-certificates"

// resolved are the packages and the base of an image.
type resolved struct {
	// debs are the packages that are unpacked into the image.
	debs []deb
	// authorities is the package of the certificate authorities, which is not unpacked as
	// it is; nil when the image has none.
	authorities *deb
	// base is a base of a registry with the manifest digest; empty for other bases.
	base string
}

// all returns every package that content of the image is from.
func (r resolved) all() []deb {
	if r.authorities == nil {
		return r.debs
	}
	return append(slices.Clone(r.debs), *r.authorities)
}

// resolve returns the packages of an image and writes them into the lock. Locked ones stay
// as they are when the build uses the lock, except those that options.Changed names.
// below are the packages of the image's base.
func (b *builder) resolve(ctx context.Context, f imagefile.File, below []deb) (resolved, error) {
	wanted := f.PackagesFor(b.arch)
	if f.CertificateAuthorities {
		wanted = append(wanted, certificatesPackage)
	}
	pins, ok := b.lock.Find(f.Name, b.arch)
	ok = ok && b.options.Locked && slices.Equal(pins.Wanted, wanted)
	var r resolved
	var err error
	switch {
	case ok && !b.changed(pins):
		r = split(f, unlocked(pins.Packages))
	default:
		if r, err = b.resolveAnew(ctx, f); err != nil {
			return r, err
		}
		if ok {
			b.keepUnchanged(&r, pins)
		}
	}
	if f.FromRegistry() {
		if r.base = pins.Base; !ok || r.base == "" || !samePlace(r.base, f.Base) || slices.Contains(b.options.Changed, f.Base) {
			if r.base, err = b.baseDigest(ctx, f.Base); err != nil {
				return r, err
			}
		}
	}
	r.debs = slices.DeleteFunc(slices.Clone(r.debs), func(d deb) bool {
		return slices.ContainsFunc(below, func(o deb) bool { return o.Name == d.Name })
	})
	if len(wanted) > 0 || r.base != "" {
		b.lock.Put(LockedImage{Name: f.Name, Arch: b.arch, Wanted: wanted, Packages: locked(r.all()), Base: r.base})
	}
	return r, nil
}

// changed reports whether options.Changed names one of the packages.
func (b *builder) changed(pins LockedImage) bool {
	return slices.ContainsFunc(pins.Packages, b.packageChanged)
}

func (b *builder) packageChanged(p LockedPackage) bool {
	return slices.ContainsFunc(b.options.Changed, p.matches)
}

// keepUnchanged takes the locked version of each package that options.Changed does not name.
func (b *builder) keepUnchanged(r *resolved, pins LockedImage) {
	keep := func(d *deb) {
		for i, p := range pins.Packages {
			if p.Name == d.Name && !b.packageChanged(p) {
				*d = unlocked(pins.Packages)[i]
			}
		}
	}
	for i := range r.debs {
		keep(&r.debs[i])
	}
	if r.authorities != nil {
		keep(r.authorities)
	}
}

// resolveAnew returns the packages that apt offers.
func (b *builder) resolveAnew(ctx context.Context, f imagefile.File) (resolved, error) {
	var r resolved
	if packages := f.PackagesFor(b.arch); len(packages) > 0 {
		debs, err := b.debs.closure(ctx, packages...)
		if err != nil {
			return r, err
		}
		r.debs = debs
	}
	if f.CertificateAuthorities {
		debs, err := b.debs.closure(ctx, certificatesPackage)
		if err != nil {
			return r, err
		}
		found := find(debs, certificatesPackage)
		if found.Name == "" {
			return r, fmt.Errorf("no Debian package %s in apt's lists: run apt-get update", certificatesPackage)
		}
		r.authorities = &found
	}
	return r, nil
}

// split separates the package of the certificate authorities from those that are unpacked.
func split(f imagefile.File, debs []deb) resolved {
	if !f.CertificateAuthorities || len(debs) == 0 {
		return resolved{debs: debs}
	}
	last := debs[len(debs)-1]
	return resolved{debs: debs[:len(debs)-1], authorities: &last}
}
