package images

import (
	"context"
	"fmt"

	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	registry "github.com/google/go-containerregistry/pkg/v1/remote"
)

// pullOptions use [Keychain] for credentials, and proxies of the environment.
func pullOptions(ctx context.Context, arch string) []registry.Option {
	return []registry.Option{
		registry.WithContext(ctx),
		registry.WithAuthFromKeychain(Keychain(nil)),
		registry.WithPlatform(v1.Platform{OS: "linux", Architecture: arch}),
	}
}

// PullImage returns an image of a registry by its reference; layers are read on
// demand. Requests to registries on loopback have no encryption.
func PullImage(ctx context.Context, reference, arch string) (v1.Image, error) {
	parsed, err := name.ParseReference(reference)
	if err != nil {
		return nil, fmt.Errorf("image reference %q: %w", reference, err)
	}
	img, err := registry.Image(parsed, pullOptions(ctx, arch)...)
	if err != nil {
		return nil, fmt.Errorf("asking for image %s: %w", reference, err)
	}
	if err := checkPlatform(img, Ref{Arch: arch}); err != nil {
		return nil, fmt.Errorf("image %s: %w", reference, err)
	}
	return img, nil
}

// ImageDigest returns the manifest digest, sha256:..., of an image of a registry for one
// architecture.
func ImageDigest(ctx context.Context, reference, arch string) (string, error) {
	img, err := PullImage(ctx, reference, arch)
	if err != nil {
		return "", err
	}
	digest, err := img.Digest()
	return digest.String(), err
}
