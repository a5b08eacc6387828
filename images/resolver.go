package images

import (
	"context"
	"errors"
	"fmt"
)

// ErrUnpinned means that the lock file has no pin for an artifact.
var ErrUnpinned = errors.New("not in the lock file")

// Resolver returns artifacts. Its fields are set once, before use; it is safe for
// concurrent use.
type Resolver struct {
	Catalogue *Catalogue
	Store     *Store
	Lock      *Lock
	Source    Source
	// Parallel is the number of artifacts that are fetched in parallel; default 4.
	Parallel int
}

// Refs returns the artifacts of one Kubernetes version and architecture. The version
// of each comes from overrides, by artifact name, else from the source, else from
// the catalogue. An empty kubernetes means the default, no names mean all.
func (r *Resolver) Refs(kubernetes, arch string, overrides map[string]string, names ...string) ([]Ref, error) {
	if len(names) == 0 {
		names = r.Catalogue.Names()
	}
	for name := range overrides {
		if _, err := r.Catalogue.Artifact(name); err != nil {
			return nil, err
		}
	}
	refs := make([]Ref, len(names))
	for i, name := range names {
		version, err := r.version(name, kubernetes, overrides)
		if err != nil {
			return nil, err
		}
		refs[i] = Ref{Name: name, Version: version, Arch: arch}
		if err := refs[i].check(); err != nil {
			return nil, err
		}
	}
	return refs, nil
}

func (r *Resolver) version(name, kubernetes string, overrides map[string]string) (string, error) {
	version, err := r.Catalogue.Version(name, kubernetes)
	if err != nil {
		return "", err
	}
	a, err := r.Catalogue.Artifact(name)
	if err != nil {
		return "", err
	}
	if own := r.Source.Versions()[a.VersionKey()]; own != "" {
		version = own
	}
	if override := overrides[name]; override != "" {
		version = override
	}
	return version, nil
}

// Resolve returns the verified content of an artifact, without the network. The error
// is ErrUnpinned for an artifact without pin, and ErrMissing for one that was not
// downloaded.
func (r *Resolver) Resolve(ctx context.Context, ref Ref) (Blob, error) {
	pin, ok := r.Lock.Pin(ref)
	if !ok {
		return Blob{}, fmt.Errorf("%s: %w %s: run deployer artifacts fetch", ref, ErrUnpinned, r.Lock.Path())
	}
	blob, err := r.Store.Blob(pin.SHA256)
	if errors.Is(err, ErrMissing) {
		return Blob{}, fmt.Errorf("%s: %w: run deployer artifacts fetch", ref, err)
	}
	if err != nil {
		return Blob{}, fmt.Errorf("%s: %w", ref, err)
	}
	if blob.Size != pin.Size {
		return Blob{}, fmt.Errorf("%s: %w: lock file %s says %d bytes, the content of that digest has %d",
			ref, ErrMismatch, r.Lock.Path(), pin.Size, blob.Size)
	}
	if a, err := r.Catalogue.Artifact(ref.Name); err == nil && a.Kind == KindArchive {
		if blob.Expanded, err = r.Store.Expanded(ctx, blob.Digest); err != nil {
			return Blob{}, fmt.Errorf("%s: %w", ref, err)
		}
	}
	return blob, nil
}

// ImageName returns the full name with tag of the image on hosts.
func (r *Resolver) ImageName(ref Ref) (string, error) {
	a, err := r.Catalogue.Artifact(ref.Name)
	if err != nil {
		return "", err
	}
	if a.Kind != KindImage {
		return "", fmt.Errorf("%s is of kind %s, not an image", ref, a.Kind)
	}
	return a.ImageName(ref), nil
}
