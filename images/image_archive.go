package images

import (
	"archive/tar"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	v1partial "github.com/google/go-containerregistry/pkg/v1/partial"
	"github.com/google/go-containerregistry/pkg/v1/types"
)

// OpenImage opens an archive that WriteImage made. The image reads layers on demand from the
// open file, whatever has its name by then.
func OpenImage(path string) (v1.Image, error) {
	archive, err := openArchive(path)
	if err != nil {
		return nil, err
	}
	return v1partial.CompressedToImage(archive)
}

// openArchive opens an archive, whose descriptor lives as long as the result.
func openArchive(path string) (*imageArchive, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("image archive: %w", err)
	}
	archive := &imageArchive{path: path, file: file, members: map[string]section{}}
	if err := archive.read(); err != nil {
		_ = file.Close()
		return nil, fmt.Errorf("image archive %s: %w", path, err)
	}
	return archive, nil
}

// ArchiveName returns the full name with tag of the image in an archive that WriteImage made.
func ArchiveName(path string) (string, error) {
	archive, err := openArchive(path)
	if err != nil {
		return "", err
	}
	defer archive.file.Close()
	name := archive.descriptor.Annotations[annotationImageName]
	if name == "" {
		return "", fmt.Errorf("image archive %s: the image in it has no name", path)
	}
	return name, nil
}

// section is the place of a member in an archive, in bytes.
type section struct{ offset, size int64 }

// imageArchive is the part of an image from which go-containerregistry builds the
// rest.
type imageArchive struct {
	path             string
	file             *os.File
	members          map[string]section
	descriptor       v1.Descriptor
	manifest, config []byte
	layers           map[v1.Hash]v1.Descriptor
}

func (a *imageArchive) read() error {
	archive := tar.NewReader(a.file)
	for {
		header, err := archive.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return err
		}
		// The reader of the tar has read only the header.
		offset, err := a.file.Seek(0, io.SeekCurrent)
		if err != nil {
			return err
		}
		a.members[header.Name] = section{offset, header.Size}
	}
	var index v1.IndexManifest
	content, err := a.content("index.json")
	if err != nil {
		return err
	}
	if err := json.Unmarshal(content, &index); err != nil {
		return fmt.Errorf("index.json: %w", err)
	}
	if len(index.Manifests) != 1 {
		return fmt.Errorf("index.json names %d images, not one", len(index.Manifests))
	}
	a.descriptor = index.Manifests[0]
	if a.manifest, err = a.blob(a.descriptor.Digest); err != nil {
		return err
	}
	var manifest v1.Manifest
	if err := json.Unmarshal(a.manifest, &manifest); err != nil {
		return fmt.Errorf("manifest: %w", err)
	}
	a.layers = map[v1.Hash]v1.Descriptor{}
	for _, l := range manifest.Layers {
		a.layers[l.Digest] = l
	}
	a.config, err = a.blob(manifest.Config.Digest)
	return err
}

func (a *imageArchive) content(name string) ([]byte, error) {
	const limit = 16 << 20 // manifests and configurations are a few kilobytes
	member, ok := a.members[name]
	if !ok || member.size > limit {
		return nil, fmt.Errorf("no usable member %s", name)
	}
	return io.ReadAll(io.NewSectionReader(a.file, member.offset, member.size))
}

// blob returns a small blob whose digest it has verified.
func (a *imageArchive) blob(digest v1.Hash) ([]byte, error) {
	content, err := a.content(blobPath(digest))
	if err != nil {
		return nil, err
	}
	if found := hexSum(content); found != digest.Hex {
		return nil, fmt.Errorf("member %s has sha256 %s: %w", blobPath(digest), found, ErrMismatch)
	}
	return content, nil
}

func (a *imageArchive) MediaType() (types.MediaType, error) { return a.descriptor.MediaType, nil }
func (a *imageArchive) RawManifest() ([]byte, error)        { return a.manifest, nil }
func (a *imageArchive) RawConfigFile() ([]byte, error)      { return a.config, nil }

func (a *imageArchive) LayerByDigest(digest v1.Hash) (v1partial.CompressedLayer, error) {
	l, ok := a.layers[digest]
	if !ok {
		return nil, fmt.Errorf("image archive %s: no layer %s", a.path, digest)
	}
	return archivedLayer{a, l}, nil
}

// archivedLayer is a layer in an archive.
type archivedLayer struct {
	archive    *imageArchive
	descriptor v1.Descriptor
}

func (l archivedLayer) Digest() (v1.Hash, error)            { return l.descriptor.Digest, nil }
func (l archivedLayer) Size() (int64, error)                { return l.descriptor.Size, nil }
func (l archivedLayer) MediaType() (types.MediaType, error) { return l.descriptor.MediaType, nil }
func (l archivedLayer) Descriptor() (*v1.Descriptor, error) { return &l.descriptor, nil }

func (l archivedLayer) Compressed() (io.ReadCloser, error) {
	member, ok := l.archive.members[blobPath(l.descriptor.Digest)]
	if !ok {
		return nil, fmt.Errorf("image archive %s: no member %s", l.archive.path, blobPath(l.descriptor.Digest))
	}
	return io.NopCloser(io.NewSectionReader(l.archive.file, member.offset, member.size)), nil
}
