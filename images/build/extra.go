package build

import (
	"context"
	"fmt"
	"path/filepath"

	"deployer/images"
)

// Extra is a set of Go programs that is not an artifact, such as the kubeadm with which
// test/bench/install compares deployer.
type Extra struct {
	// Name is the name of the set with its version; it names the directory in the cache.
	Name string
	// GoMod lists the programs in its tool lines; GoSum pins every module.
	GoMod, GoSum []byte
	// Kubernetes is the version that the programs report.
	Kubernetes string
}

// Programs compiles the programs of extra, unless they are cached for the same inputs,
// and returns their directory. Programs writes nothing into Dir. The package has the function
// for test/bench/install alone: a comparison is fair when its programs have the compiler,
// flags and cache of those of Build, and a second builder in the benchmark would not follow
// them.
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
