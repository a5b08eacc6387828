package images

import (
	"context"
	"deployer/resumable"
	"fmt"
	"io"
	"os"
	"path/filepath"
)

// Directory is a source on disk, as the builder creates it.
type Directory struct {
	path  string
	index *Index
}

// NewDirectory opens the directory at path by its artifacts.yaml.
func NewDirectory(path string) (*Directory, error) {
	index, err := ReadIndex(path)
	if err != nil {
		return nil, fmt.Errorf("artifact source %s: %w; make one with: deployer artifacts build --dir %s", path, err, path)
	}
	return &Directory{path, index}, nil
}

// String names the directory.
func (d *Directory) String() string { return "directory " + d.path }

// Versions returns the versions of the index.
func (d *Directory) Versions() map[string]string { return d.index.Versions }

// Offer returns the digest in the index.
func (d *Directory) Offer(_ context.Context, a Artifact, ref Ref) (Offer, error) {
	entry, ok := d.index.find(a, ref)
	if !ok {
		return Offer{}, final{fmt.Errorf("%s holds no %s", d, ref)}
	}
	if entry.Kind != a.Kind {
		return Offer{}, final{fmt.Errorf("%s: %s is of kind %s, the catalogue says %s", d, ref, entry.Kind, a.Kind)}
	}
	return Offer{SHA256: entry.SHA256, Manifest: entry.Manifest, Address: "directory:" + entry.File}, nil
}

// Open fails at once when the index has another digest than wanted.
func (d *Directory) Open(ctx context.Context, a Artifact, ref Ref, want Offer, offset int64) (resumable.Content, error) {
	offer, err := d.Offer(ctx, a, ref)
	if err != nil {
		return resumable.Content{}, err
	}
	if offer.SHA256 != want.SHA256 {
		return resumable.Content{}, fmt.Errorf("%s offers sha256 %s: %w", d, offer.SHA256, ErrMismatch)
	}
	entry, _ := d.index.find(a, ref)
	file, err := os.Open(filepath.Join(d.path, filepath.FromSlash(entry.File)))
	if err != nil {
		return resumable.Content{}, fmt.Errorf("%s: %w", d, err)
	}
	if _, err := file.Seek(offset, io.SeekStart); err != nil {
		_ = file.Close()
		return resumable.Content{}, fmt.Errorf("%s: %w", d, err)
	}
	return resumable.Content{ReadCloser: file, Offset: offset, Total: entry.Size}, nil
}
