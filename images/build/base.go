package build

import (
	"archive/tar"
	"context"
	"errors"
	"fmt"
	"io"
	"path"
	"path/filepath"
	"strings"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"

	"deployer/images"
)

// openBase returns the base of an image; that of an image from scratch has no layer.
func (b *builder) openBase(ctx context.Context, in *imageInputs) (v1.Image, error) {
	switch {
	case in.base != nil:
		return images.OpenImage(filepath.Join(b.options.Dir, filepath.FromSlash(in.base.artifact.LayoutPath(in.base.ref))))
	case in.resolved.base != "":
		return images.PullImage(ctx, in.resolved.base, b.arch)
	}
	return empty.Image, nil
}

// baseDigest reads the digest of a base from its registry, and returns the reference
// with the digest.
func (b *builder) baseDigest(ctx context.Context, reference string) (string, error) {
	digest, err := images.ImageDigest(ctx, reference, b.arch)
	if err != nil {
		return "", fmt.Errorf("base %s: %w", reference, err)
	}
	repository, _, _ := strings.Cut(reference, "@")
	return repository + "@" + digest, nil
}

// samePlace reports whether a reference with a digest is from the reference of an image
// file.
func samePlace(pinned, reference string) bool {
	repository, _, _ := strings.Cut(reference, "@")
	return strings.HasPrefix(pinned, repository+"@")
}

// layerFiles returns the names without directory of all files in the layers of an image.
func layerFiles(img v1.Image) ([]string, error) {
	layers, err := img.Layers()
	if err != nil {
		return nil, err
	}
	var names []string
	for _, layer := range layers {
		content, err := layer.Uncompressed()
		if err != nil {
			return nil, err
		}
		archive := tar.NewReader(content)
		for {
			header, err := archive.Next()
			if errors.Is(err, io.EOF) {
				break
			}
			if err != nil {
				return nil, errors.Join(fmt.Errorf("reading layer of the base: %w", err), content.Close())
			}
			names = append(names, path.Base(header.Name))
		}
		if err := content.Close(); err != nil {
			return nil, err
		}
	}
	return names, nil
}
