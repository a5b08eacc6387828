package images

import (
	"archive/tar"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strings"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/types"
)

// Annotations that containerd and others read from index.json on import. The
// first carries the full name, the second is the image-spec's own, the tag.
const (
	annotationImageName = "io.containerd.image.name"
	annotationRefName   = "org.opencontainers.image.ref.name"
)

// archiveEntry is one file of an image archive: fixed bytes, or a stream.
type archiveEntry struct {
	name    string
	size    int64
	content func() (io.ReadCloser, error)
}

// WriteImage writes img under its full name as a tar in OCI image layout, with
// a manifest.json beside it for programs that know only docker's format.
// Blobs are stored as the image has them, so the manifest digest on the host is
// that of the registry; the same image and name always give the same bytes.
func WriteImage(w io.Writer, name string, img v1.Image) error {
	entries, err := imageEntries(name, img)
	if err != nil {
		return fmt.Errorf("image %s: %w", name, err)
	}
	archive := tar.NewWriter(w)
	for _, e := range entries {
		if err := e.write(archive); err != nil {
			return fmt.Errorf("image %s: writing %s: %w", name, e.name, err)
		}
	}
	return archive.Close()
}

// ImageSize is the number of bytes WriteImage will write. ImageSize costs the manifest
// and the config only, no layer.
func ImageSize(name string, img v1.Image) (int64, error) {
	entries, err := imageEntries(name, img)
	if err != nil {
		return 0, fmt.Errorf("image %s: %w", name, err)
	}
	const block = 512 // tar: header, content rounded up, two empty blocks at the end
	total := int64(2 * block)
	for _, e := range entries {
		total += block + (e.size+block-1)/block*block
	}
	return total, nil
}

func (e archiveEntry) write(archive *tar.Writer) error {
	header := &tar.Header{Typeflag: tar.TypeReg, Name: e.name, Size: e.size, Mode: 0o444, Format: tar.FormatUSTAR}
	if err := archive.WriteHeader(header); err != nil {
		return err
	}
	content, err := e.content()
	if err != nil {
		return err
	}
	_, err = io.Copy(archive, content)
	return errors.Join(err, content.Close())
}

func imageEntries(name string, img v1.Image) ([]archiveEntry, error) {
	manifest, err := img.Manifest()
	if err != nil {
		return nil, fmt.Errorf("reading manifest: %w", err)
	}
	rawManifest, err := img.RawManifest()
	if err != nil {
		return nil, fmt.Errorf("reading manifest: %w", err)
	}
	digest, err := img.Digest()
	if err != nil {
		return nil, err
	}
	rawConfig, err := img.RawConfigFile()
	if err != nil {
		return nil, fmt.Errorf("reading config: %w", err)
	}
	index, legacy, err := imageIndexes(name, img, manifest, digest, int64(len(rawManifest)))
	if err != nil {
		return nil, err
	}
	entries := []archiveEntry{
		fixed("oci-layout", []byte(`{"imageLayoutVersion":"1.0.0"}`)),
		fixed("index.json", index),
		fixed("manifest.json", legacy),
		fixed(blobPath(digest), rawManifest),
		fixed(blobPath(manifest.Config.Digest), rawConfig),
	}
	written := map[v1.Hash]bool{}
	for _, l := range manifest.Layers {
		if written[l.Digest] {
			continue
		}
		written[l.Digest] = true
		entries = append(entries, archiveEntry{blobPath(l.Digest), l.Size, func() (io.ReadCloser, error) {
			layer, err := img.LayerByDigest(l.Digest)
			if err != nil {
				return nil, err
			}
			return layer.Compressed()
		}})
	}
	return entries, nil
}

func imageIndexes(name string, img v1.Image, manifest *v1.Manifest, digest v1.Hash, size int64) (index, legacy []byte, err error) {
	mediaType, err := img.MediaType()
	if err != nil {
		return nil, nil, err
	}
	config, err := img.ConfigFile()
	if err != nil {
		return nil, nil, fmt.Errorf("reading config: %w", err)
	}
	index, err = json.Marshal(v1.IndexManifest{
		SchemaVersion: 2,
		MediaType:     types.OCIImageIndex,
		Manifests: []v1.Descriptor{{
			MediaType: mediaType,
			Size:      size,
			Digest:    digest,
			Annotations: map[string]string{
				annotationImageName: name,
				annotationRefName:   name[strings.LastIndex(name, ":")+1:],
			},
			Platform: &v1.Platform{OS: config.OS, Architecture: config.Architecture, Variant: config.Variant},
		}},
	})
	if err != nil {
		return nil, nil, err
	}
	layers := make([]string, len(manifest.Layers))
	for i, l := range manifest.Layers {
		layers[i] = blobPath(l.Digest)
	}
	legacy, err = json.Marshal([]map[string]any{{
		"Config": blobPath(manifest.Config.Digest), "RepoTags": []string{name}, "Layers": layers,
	}})
	return index, legacy, err
}

func blobPath(h v1.Hash) string { return "blobs/" + h.Algorithm + "/" + h.Hex }

func fixed(name string, content []byte) archiveEntry {
	return archiveEntry{name, int64(len(content)), func() (io.ReadCloser, error) {
		return io.NopCloser(strings.NewReader(string(content))), nil
	}}
}

// ReadImageIndex reads the name and the manifest digest ("sha256:...") out of a
// tar that WriteImage made. ReadImageIndex reads only up to index.json.
func ReadImageIndex(path string) (name, manifest string, err error) {
	file, err := os.Open(path)
	if err != nil {
		return "", "", err
	}
	defer file.Close()
	archive := tar.NewReader(file)
	for {
		header, err := archive.Next()
		if errors.Is(err, io.EOF) {
			return "", "", fmt.Errorf("image archive %s: index.json: %w", path, fs.ErrNotExist)
		}
		if err != nil {
			return "", "", fmt.Errorf("image archive %s: %w", path, err)
		}
		if header.Name != "index.json" {
			continue
		}
		var index v1.IndexManifest
		if err := json.NewDecoder(archive).Decode(&index); err != nil {
			return "", "", fmt.Errorf("image archive %s: index.json: %w", path, err)
		}
		if len(index.Manifests) != 1 {
			return "", "", fmt.Errorf("image archive %s: index.json names %d images, not one", path, len(index.Manifests))
		}
		m := index.Manifests[0]
		return m.Annotations[annotationImageName], m.Digest.String(), nil
	}
}
