package build

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"deployer/images"

	"github.com/hashicorp/go-multierror"
)

// makeAll makes the outputs that are not current and writes the index after each, so
// that an interrupted build can be continued.
func (b *builder) makeAll(ctx context.Context, index *images.Index, all []output) error {
	var failures *multierror.Error
	b.progress.total = len(all)
	for i, o := range all {
		b.progress.number = i + 1
		err := b.makeOne(ctx, index, o)
		if ctx.Err() != nil {
			return fmt.Errorf("building artifacts: %w", context.Cause(ctx))
		}
		if err != nil {
			failures = multierror.Append(failures, fmt.Errorf("building %s: %w", o.ref, err))
		}
	}
	return failures.ErrorOrNil()
}

func (b *builder) makeOne(ctx context.Context, index *images.Index, o output) error {
	if err := b.noteVersion(index, o); err != nil {
		return err
	}
	if b.current(index, o) {
		b.progress.cached(o.ref.String())
		return nil
	}
	return b.progress.during(o.ref.String(), func() error {
		entry, err := b.produce(ctx, o)
		if err != nil {
			return err
		}
		index.Put(entry)
		return index.Write(b.options.Dir)
	})
}

// current reports whether the file made from the same inputs exists.
func (b *builder) current(index *images.Index, o output) bool {
	entry, ok := index.Find(o.ref)
	if !ok || entry.Inputs != o.key {
		return false
	}
	info, err := os.Stat(filepath.Join(b.options.Dir, filepath.FromSlash(entry.File)))
	return err == nil && info.Size() == entry.Size
}

// noteVersion records in the index a version that differs from the catalogue's.
func (b *builder) noteVersion(index *images.Index, o output) error {
	if o.artifact.Follows != "" {
		return nil
	}
	expected, err := b.catalogue.Version(o.artifact.Name, b.options.Kubernetes[0])
	if err != nil || expected == o.ref.Version {
		return err
	}
	if index.Versions == nil {
		index.Versions = map[string]string{}
	}
	index.Versions[o.artifact.Name] = o.ref.Version
	return nil
}

// produce makes the file under a temporary name in the same directory.
func (b *builder) produce(ctx context.Context, o output) (images.IndexEntry, error) {
	relative := o.artifact.LayoutPath(o.ref)
	path := filepath.Join(b.options.Dir, filepath.FromSlash(relative))
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return images.IndexEntry{}, err
	}
	tmp := filepath.Join(filepath.Dir(path), ".new-"+filepath.Base(path))
	defer os.Remove(tmp)
	if err := o.make(ctx, tmp); err != nil {
		return images.IndexEntry{}, err
	}
	digest, size, err := images.HashFile(tmp)
	if err != nil {
		return images.IndexEntry{}, err
	}
	entry := images.IndexEntry{
		Ref: o.ref, Kind: o.artifact.Kind, File: relative, SHA256: digest, Size: size,
		Origin: o.origin, Inputs: o.key,
	}
	if o.artifact.Kind == images.KindImage {
		var name string
		name, entry.Manifest, err = images.ReadImageIndex(tmp)
		if err == nil && name != o.artifact.ImageName(o.ref) {
			err = errors.New("the archive names another image: " + name)
		}
		if err != nil {
			return images.IndexEntry{}, err
		}
	}
	return entry, os.Rename(tmp, path)
}
