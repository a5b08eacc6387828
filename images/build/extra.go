package build

import (
	"context"
	"fmt"
	"path/filepath"

	"deployer/images"
)

// Extra is a Go module set that is no artifact and that the caller brings, such
// as a program that only a benchmark runs.
type Extra struct {
	// Name is the set's, with its version: it names the directory in the cache.
	Name string
	// GoMod names the programs in its tool lines; GoSum pins every module.
	GoMod, GoSum []byte
	// Kubernetes is the version that its programs say they are.
	Kubernetes string
}

// Programs compiles the programs of extra, unless that was done before from the
// same inputs, and returns the directory that holds them. Of options it uses
// what Build uses, but it writes nothing into Dir.
func Programs(ctx context.Context, catalogue *images.Catalogue, options Options, extra Extra) (string, error) {
	b, err := newBuilder(ctx, catalogue, options)
	if err != nil {
		return "", fmt.Errorf("building %s: %w", extra.Name, err)
	}
	m := kubernetesModule(extra.Kubernetes)
	m.name, m.extra = extra.Name, &extra
	at, err := b.binaries(ctx, m)
	if err != nil {
		return "", err
	}
	return filepath.Dir(at("program")), nil
}
