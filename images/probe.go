package images

import (
	"archive/tar"
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"os"

	v1 "github.com/google/go-containerregistry/pkg/v1"
)

// Probe is an image that is created for `deployer verify`.
type Probe struct {
	// Name is the result of ProbeName.
	Name string
	// Archive is a tar that `ctr -n k8s.io images import` takes.
	Archive []byte
	// Digest is the SHA-256 of Archive in hex.
	Digest string
}

// ProbeTag returns the first twelve digits of a program's SHA-256 in hex, so that a
// host that has the image has exactly this program. In a cluster of several
// architectures one of them gives the tag for all.
func ProbeTag(digest string) string { return digest[:12] }

// ProbeName returns the name of the image with a tag.
func ProbeName(tag string) string { return "deployer.local/probe:" + tag }

// ProbeImage wraps a static binary as an image with the given tag, whose
// entrypoint is /agent. Arch is in Go's spelling. The same binary always gives
// the same archive.
func ProbeImage(tag string, binary []byte, arch string) (Probe, error) {
	layer, err := probeLayer(binary)
	if err != nil {
		return Probe{}, fmt.Errorf("making probe image: %w", err)
	}
	defer os.Remove(layer)
	img, err := Assemble(layer, arch, v1.Config{Entrypoint: []string{"/agent"}, WorkingDir: "/"})
	if err != nil {
		return Probe{}, fmt.Errorf("making probe image: %w", err)
	}
	probe := Probe{Name: ProbeName(tag)}
	var archive bytes.Buffer
	if err := WriteImage(&archive, probe.Name, img); err != nil {
		return Probe{}, err
	}
	probe.Archive = archive.Bytes()
	sum := sha256.Sum256(probe.Archive)
	probe.Digest = hex.EncodeToString(sum[:])
	return probe, nil
}

func probeLayer(binary []byte) (path string, err error) {
	file, err := os.CreateTemp("", "deployer-probe-*.tar")
	if err != nil {
		return "", err
	}
	defer func() {
		if closeErr := file.Close(); err == nil {
			err = closeErr
		}
		if err != nil {
			_ = os.Remove(file.Name())
		}
	}()
	archive := tar.NewWriter(file)
	header := &tar.Header{Typeflag: tar.TypeReg, Name: "agent", Size: int64(len(binary)), Mode: 0o755, Format: tar.FormatUSTAR}
	if err := archive.WriteHeader(header); err != nil {
		return "", err
	}
	if _, err := archive.Write(binary); err != nil {
		return "", err
	}
	return file.Name(), archive.Close()
}
