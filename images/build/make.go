package build

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"sync"

	"deployer/images"

	"github.com/hashicorp/go-multierror"
	"golang.org/x/sync/errgroup"
)

// makeAll makes the outputs that are not current, several at once and each after its
// base, and writes the index after each, so that an interrupted build can be continued.
// all has bases before the images on top of them.
func (b *builder) makeAll(ctx context.Context, index *images.Index, all []*output) error {
	var mu sync.Mutex
	var failures *multierror.Error
	b.progress.total = len(all)
	made := map[images.Ref]*making{}
	var group errgroup.Group
	group.SetLimit(max(2, runtime.GOMAXPROCS(0)))
	for _, o := range all {
		m := &making{done: make(chan struct{})}
		made[o.ref] = m
		var base *making
		if o.image != nil && o.image.base != nil {
			base = made[o.image.base.ref] // the base was begun before, so this wait ends
		}
		group.Go(func() error {
			defer close(m.done)
			if m.err = base.wait(); m.err == nil {
				m.err = b.makeOne(ctx, index, o)
			}
			if m.err != nil {
				mu.Lock()
				defer mu.Unlock()
				failures = multierror.Append(failures, fmt.Errorf("building %s: %w", o.ref, m.err))
			}
			return nil
		})
	}
	if err := group.Wait(); err != nil {
		return err
	}
	if ctx.Err() != nil {
		return fmt.Errorf("building artifacts: %w", context.Cause(ctx))
	}
	return failures.ErrorOrNil()
}

// making is the state of an output that others wait for.
type making struct {
	done chan struct{}
	err  error
}

// wait returns when the base is made; nil is no base.
func (m *making) wait() error {
	if m == nil {
		return nil
	}
	<-m.done
	if m.err != nil {
		return errors.New("its base was not built")
	}
	return nil
}

func (b *builder) makeOne(ctx context.Context, index *images.Index, o *output) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	b.progress.begin()
	b.indexLock.Lock()
	err := b.noteVersion(index, o)
	current := b.current(index, o)
	b.indexLock.Unlock()
	if err != nil {
		return err
	}
	if current {
		b.progress.cached(o)
		return nil
	}
	return b.progress.duringOutput(o, func() error {
		entry, err := b.produce(ctx, o)
		if err != nil {
			return err
		}
		b.indexLock.Lock()
		defer b.indexLock.Unlock()
		index.Put(entry)
		return index.Write(b.options.Dir)
	})
}

// ArchivePath returns the path of the file of an entry in a directory source.
func ArchivePath(dir string, entry images.IndexEntry) string {
	return filepath.Join(dir, filepath.FromSlash(entry.File))
}

// current reports whether the file made from the same inputs exists.
func (b *builder) current(index *images.Index, o *output) bool {
	entry, ok := index.Find(o.ref)
	if !ok || entry.Inputs != o.key {
		return false
	}
	info, err := os.Stat(ArchivePath(b.options.Dir, entry))
	if err != nil || info.Size() != entry.Size {
		return false
	}
	if o.image != nil {
		_, err = os.Stat(ArchivePath(b.options.Dir, entry) + SBOMSuffix)
	}
	return err == nil
}

// noteVersion records in the index a version that differs from the catalogue's.
func (b *builder) noteVersion(index *images.Index, o *output) error {
	// An image that is not in the catalogue has no other version there.
	if o.artifact.Follows != "" || !slices.Contains(b.catalogue.Names(), o.artifact.Name) {
		return nil
	}
	key := o.artifact.VersionKey()
	expected, err := b.catalogue.Version(o.artifact.Name, b.options.Kubernetes[0])
	if err != nil || expected == o.ref.Version {
		return err
	}
	if index.Versions == nil {
		index.Versions = map[string]string{}
	}
	index.Versions[key] = o.ref.Version
	return nil
}

// produce makes the file under a temporary name in the same directory.
func (b *builder) produce(ctx context.Context, o *output) (images.IndexEntry, error) {
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
		if err == nil {
			err = b.writeSBOM(o, tmp, entry.Manifest, path+SBOMSuffix)
		}
		if err != nil {
			return images.IndexEntry{}, err
		}
	}
	return entry, os.Rename(tmp, path)
}
