package publish

import (
	"context"
	"fmt"
	"strings"

	"github.com/google/go-containerregistry/pkg/name"
	"github.com/google/go-containerregistry/pkg/v1/remote"

	"deployer/images"
)

// Target is a registry that images are pushed to, with an optional path below which the
// repositories are: registry.example/mirror.
type Target struct {
	Registry string
	// Insecure allows HTTP without encryption; registries on loopback need no permission.
	Insecure bool
}

// repository returns the repository of an image by its full name: the layout of a mirror,
// so that the target can be the source of artifacts of an inventory.
func (t Target) repository(image string) (name.Repository, error) {
	var options []name.Option
	if t.Insecure {
		options = append(options, name.Insecure)
	}
	repository, err := name.NewRepository(strings.TrimSuffix(t.Registry, "/")+"/"+image, options...)
	if err != nil {
		return repository, fmt.Errorf("repository of %s at %s: %w", image, t.Registry, err)
	}
	return repository, nil
}

// options use [images.Keychain] for credentials, and proxies of the environment.
func options(ctx context.Context) []remote.Option {
	return []remote.Option{remote.WithContext(ctx), remote.WithAuthFromKeychain(images.Keychain(nil))}
}
