package publish

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"

	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/partial"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	"github.com/google/go-containerregistry/pkg/v1/static"
	"github.com/google/go-containerregistry/pkg/v1/types"

	"deployer/images"
)

// The media types of the artifacts that refer to an image.
const (
	sbomType   types.MediaType = "application/spdx+json"
	recordType types.MediaType = "application/vnd.in-toto+json"
)

// Image is one version of an image for all its architectures.
type Image struct {
	// Name is the full name without tag.
	Name    string
	Version string
	// Platforms are its archives.
	Platforms []Platform
}

// Platform is an image for one architecture.
type Platform struct {
	Arch string
	// Archive is the path of the image, SBOM and Record those of its documents; empty or
	// missing files are not pushed.
	Archive, SBOM, Record string
}

// Push writes the image to the target with the tag of the stage testing, and returns the
// digest of its index, sha256:.... The same archives give the same digest, and layers that
// the registry has are not sent again.
func Push(ctx context.Context, target Target, image Image) (digest string, err error) {
	repository, err := target.repository(image.Name)
	if err != nil {
		return "", err
	}
	index := mutate.IndexMediaType(empty.Index, types.OCIImageIndex)
	for _, p := range image.Platforms {
		img, err := pushPlatform(ctx, repository, p)
		if err != nil {
			return "", fmt.Errorf("pushing %s %s for %s: %w", image.Name, image.Version, p.Arch, err)
		}
		index = mutate.AppendManifests(index, mutate.IndexAddendum{
			Add: img, Descriptor: v1.Descriptor{Platform: &v1.Platform{OS: "linux", Architecture: p.Arch}},
		})
	}
	tag := repository.Tag(Testing.Tag(image.Version))
	if err := remote.WriteIndex(tag, index, options(ctx)...); err != nil {
		return "", fmt.Errorf("pushing %s: %w", tag, err)
	}
	hash, err := index.Digest()
	return hash.String(), err
}

// pushPlatform writes one image by its digest, and the artifacts that refer to it.
func pushPlatform(ctx context.Context, repository name.Repository, p Platform) (v1.Image, error) {
	img, err := images.OpenImage(p.Archive)
	if err != nil {
		return nil, err
	}
	hash, err := img.Digest()
	if err != nil {
		return nil, err
	}
	if err := remote.Write(repository.Digest(hash.String()), img, options(ctx)...); err != nil {
		return nil, err
	}
	subject, err := partial.Descriptor(img)
	if err != nil {
		return nil, err
	}
	for _, document := range []struct {
		path      string
		mediaType types.MediaType
	}{{p.SBOM, sbomType}, {p.Record, recordType}} {
		if document.path == "" {
			continue
		}
		content, err := os.ReadFile(document.path)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return nil, err
		}
		if err := attach(ctx, repository, *subject, document.mediaType, content); err != nil {
			return nil, err
		}
	}
	return img, nil
}

// attach writes a document as an artifact that refers to the subject.
func attach(ctx context.Context, repository name.Repository, subject v1.Descriptor, mediaType types.MediaType, content []byte) error {
	artifact := mutate.ConfigMediaType(mutate.MediaType(empty.Image, types.OCIManifestSchema1), mediaType)
	artifact, err := mutate.AppendLayers(artifact, static.NewLayer(content, mediaType))
	if err != nil {
		return err
	}
	reference := v1.Descriptor{MediaType: subject.MediaType, Digest: subject.Digest, Size: subject.Size}
	referring, ok := mutate.Subject(artifact, reference).(v1.Image)
	if !ok {
		return errors.New("an image with a subject is not an image")
	}
	hash, err := referring.Digest()
	if err != nil {
		return err
	}
	if err := remote.Write(repository.Digest(hash.String()), referring, options(ctx)...); err != nil {
		return fmt.Errorf("pushing %s of %s: %w", mediaType, subject.Digest, err)
	}
	return nil
}
