package images

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"

	"github.com/google/renameio/v2"
	"gopkg.in/yaml.v3"
)

// IndexName is the file that makes a directory an artifact source.
const IndexName = "artifacts.yaml"

// Index lists what a directory source holds. Together with the files it names
// it is all a site without internet needs.
type Index struct {
	// Versions overrides the versions of the catalogue for artifacts that this
	// directory has only in another version, by the name of the artifact or of its set.
	// A builder that takes runc from Debian writes its version here.
	Versions map[string]string `yaml:"versions,omitempty"`
	Entries  []IndexEntry      `yaml:"artifacts"`
}

// IndexEntry is one file of a directory source.
type IndexEntry struct {
	Ref  `yaml:",inline"`
	Kind Kind `yaml:"kind"`
	// File is the path below the directory, with slashes.
	File   string `yaml:"file"`
	SHA256 string `yaml:"sha256"`
	// Size is in bytes.
	Size int64 `yaml:"size"`
	// Manifest is an image's manifest digest, sha256:...
	Manifest string `yaml:"manifest,omitempty"`
	// Origin describes where the content comes from.
	Origin string `yaml:"origin,omitempty"`
	// Inputs is the builder's key: the file is made again when it changes.
	Inputs string `yaml:"inputs,omitempty"`
}

// ReadIndex reads dir's index, strictly.
func ReadIndex(dir string) (*Index, error) {
	path := filepath.Join(dir, IndexName)
	content, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("reading artifact index: %w", err)
	}
	decoder := yaml.NewDecoder(bytes.NewReader(content))
	decoder.KnownFields(true)
	index := &Index{}
	if err := decoder.Decode(index); err != nil && !errors.Is(err, io.EOF) {
		return nil, fmt.Errorf("reading artifact index %s: %w", path, err)
	}
	for _, e := range index.Entries {
		if err := e.check(); err != nil {
			return nil, fmt.Errorf("artifact index %s: %w", path, err)
		}
	}
	return index, nil
}

// Write puts the index into dir, atomically and in stable order.
func (i *Index) Write(dir string) error {
	slices.SortFunc(i.Entries, func(a, b IndexEntry) int { return a.Ref.Compare(b.Ref) })
	content, err := yaml.Marshal(i)
	if err != nil {
		return err
	}
	if err := renameio.WriteFile(filepath.Join(dir, IndexName), content, 0o644); err != nil {
		return fmt.Errorf("writing artifact index: %w", err)
	}
	return nil
}

// Find returns the entry for ref.
func (i *Index) Find(ref Ref) (IndexEntry, bool) {
	for _, e := range i.Entries {
		if e.Ref == ref {
			return e, true
		}
	}
	return IndexEntry{}, false
}

// find returns the entry for ref. The builder lists an image of a user under the name of its image
// file, while the artifact has a name made of the image's; both have one place in the directory.
func (i *Index) find(a Artifact, ref Ref) (IndexEntry, bool) {
	if e, ok := i.Find(ref); ok || a.Kind != KindImage {
		return e, ok
	}
	for _, e := range i.Entries {
		if e.Kind == KindImage && e.File == a.LayoutPath(ref) {
			return e, true
		}
	}
	return IndexEntry{}, false
}

// Put adds the entry, or replaces the one for the same ref.
func (i *Index) Put(entry IndexEntry) {
	i.Entries = slices.DeleteFunc(i.Entries, func(e IndexEntry) bool { return e.Ref == entry.Ref })
	i.Entries = append(i.Entries, entry)
}

func (e IndexEntry) check() error {
	if err := e.Ref.check(); err != nil {
		return err
	}
	if !filepath.IsLocal(filepath.FromSlash(e.File)) {
		return fmt.Errorf("%s: file %q leaves the directory", e.Ref, e.File)
	}
	return checkDigest(e.Ref, e.SHA256)
}
