package images

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"os"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/types"
)

// tarLayer is an uncompressed layer in a file. Layers stay uncompressed because
// the archive around them is compressed once, as a whole, for the way to the
// hosts; gzip inside would cost twice and save nothing.
type tarLayer struct {
	path   string
	digest v1.Hash
	size   int64
}

// newTarLayer hashes the tar at path; the file must stay until the image has
// been written.
func newTarLayer(path string) (v1.Layer, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	sum := sha256.New()
	size, err := io.Copy(sum, file)
	if err != nil {
		return nil, fmt.Errorf("hashing layer %s: %w", path, err)
	}
	return tarLayer{path, v1.Hash{Algorithm: "sha256", Hex: hex.EncodeToString(sum.Sum(nil))}, size}, nil
}

func (l tarLayer) Digest() (v1.Hash, error)             { return l.digest, nil }
func (l tarLayer) DiffID() (v1.Hash, error)             { return l.digest, nil }
func (l tarLayer) Compressed() (io.ReadCloser, error)   { return os.Open(l.path) }
func (l tarLayer) Uncompressed() (io.ReadCloser, error) { return os.Open(l.path) }
func (l tarLayer) Size() (int64, error)                 { return l.size, nil }
func (l tarLayer) MediaType() (types.MediaType, error)  { return types.OCIUncompressedLayer, nil }

// Assemble makes an OCI image of one uncompressed layer, the tar at layerPath,
// which must stay until the image has been written. It carries no dates, so the
// same layer and config give the same digest.
func Assemble(layerPath, arch string, config v1.Config) (v1.Image, error) {
	layer, err := newTarLayer(layerPath)
	if err != nil {
		return nil, err
	}
	img := mutate.ConfigMediaType(mutate.MediaType(empty.Image, types.OCIManifestSchema1), types.OCIConfigJSON)
	img, err = mutate.Append(img, mutate.Addendum{Layer: layer})
	if err != nil {
		return nil, fmt.Errorf("adding layer %s: %w", layerPath, err)
	}
	file, err := img.ConfigFile()
	if err != nil {
		return nil, err
	}
	file = file.DeepCopy()
	file.OS, file.Architecture, file.Config = "linux", arch, config
	file.History = nil
	return mutate.ConfigFile(img, file)
}
