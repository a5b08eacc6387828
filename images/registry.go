package images

import (
	"context"
	"deployer/resumable"
	"fmt"
	"io"
	"strings"

	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	registry "github.com/google/go-containerregistry/pkg/v1/remote"
)

func (r *httpSource) offerImage(ctx context.Context, a Artifact, ref Ref) (Offer, error) {
	repository, err := r.repository(a, ref)
	if err != nil {
		return Offer{}, err
	}
	tag := repository.Tag(ref.Version)
	img, err := registry.Image(tag, r.registryOptions(ctx, ref)...)
	if err != nil {
		return Offer{}, fmt.Errorf("asking for image %s: %w", tag, err)
	}
	digest, err := img.Digest()
	if err != nil {
		return Offer{}, fmt.Errorf("image %s: %w", tag, err)
	}
	return Offer{Manifest: digest.String(), Address: tag.Name() + "@" + digest.String()}, nil
}

// openImage streams the image of that manifest digest as an archive. The
// registry client checks the digest of the manifest, the config and each layer.
func (r *httpSource) openImage(ctx context.Context, a Artifact, ref Ref, want Offer) (resumable.Content, error) {
	repository, err := r.repository(a, ref)
	if err != nil {
		return resumable.Content{}, err
	}
	address := repository.Digest(want.Manifest)
	img, err := registry.Image(address, r.registryOptions(ctx, ref)...)
	if err != nil {
		return resumable.Content{}, fmt.Errorf("asking for image %s: %w", address, err)
	}
	if err := checkPlatform(img, ref); err != nil {
		return resumable.Content{}, final{fmt.Errorf("image %s: %w", address, err)}
	}
	// The name inside is the publisher's, whatever the source of the image.
	imageName := a.ImageName(ref)
	total, err := ImageSize(imageName, img)
	if err != nil {
		return resumable.Content{}, err
	}
	reader, writer := io.Pipe()
	go func() { writer.CloseWithError(WriteImage(writer, imageName, img)) }()
	return resumable.Content{ReadCloser: reader, Total: total}, nil
}

// checkPlatform catches tags that hold one platform only: a registry then returns
// that platform for any request.
func checkPlatform(img v1.Image, ref Ref) error {
	config, err := img.ConfigFile()
	if err != nil {
		return fmt.Errorf("reading config: %w", err)
	}
	if config.OS != "linux" || config.Architecture != ref.Arch {
		return fmt.Errorf("is for %s/%s, not for linux/%s", config.OS, config.Architecture, ref.Arch)
	}
	return nil
}

func (r *httpSource) repository(a Artifact, ref Ref) (name.Repository, error) {
	full := strings.TrimSuffix(a.ImageName(ref), ":"+ref.Version)
	var options []name.Option
	if r.mirror != nil {
		full = r.mirror.Host + r.mirror.JoinPath(full).Path
		if r.mirror.Scheme == "http" {
			options = append(options, name.Insecure)
		}
	}
	repository, err := name.NewRepository(full, options...)
	if err != nil {
		return name.Repository{}, fmt.Errorf("image name %s: %w", full, err)
	}
	return repository, nil
}

func (r *httpSource) registryOptions(ctx context.Context, ref Ref) []registry.Option {
	return []registry.Option{
		registry.WithContext(ctx),
		registry.WithAuthFromKeychain(Keychain(r.logins)),
		registry.WithPlatform(v1.Platform{OS: "linux", Architecture: ref.Arch}),
		registry.WithTransport(r.client.Transport),
		// One layer of retries is enough; see Resolver.
		registry.WithRetryBackoff(registry.Backoff{Steps: 1}),
	}
}
