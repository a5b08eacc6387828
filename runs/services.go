package runs

import (
	"context"
	"fmt"
	"io"

	"github.com/klauspost/compress/zstd"

	"deployer/engine"
	"deployer/engine/remote"
	"deployer/project"
	"deployer/runs/blobs"
	"deployer/shellquote"
	"deployer/tasks/control"
	"deployer/tasks/control/keyring"
	"deployer/tasks/control/kube"
	"deployer/tasks/control/preflight"
)

// maxManifests bounds a file of the catalogue with manifests, in bytes.
const maxManifests = 64 << 20

// artifactReader returns the reader of files of the catalogue. Such a file is the same for all
// architectures.
func artifactReader(p *project.Project, content *blobs.Store) kube.ArtifactReader {
	return func(ctx context.Context, name, version string) ([]byte, error) {
		arch := "amd64"
		for _, ref := range p.Needed {
			if ref.Name == name {
				arch = ref.Arch
			}
		}
		blob, err := content.Artifact(ctx, name, version, arch)
		if err != nil {
			return nil, err
		}
		packed, _, err := content.Open(blob.Digest)
		if err != nil {
			return nil, err
		}
		defer func() { _ = packed.Close() }()
		plain, err := zstd.NewReader(packed)
		if err != nil {
			return nil, err
		}
		defer plain.Close()
		text, err := io.ReadAll(io.LimitReader(plain, maxManifests+1))
		switch {
		case err != nil:
			return nil, fmt.Errorf("reading %s %s: %w", name, version, err)
		case len(text) > maxManifests:
			return nil, fmt.Errorf("%s %s has more than %d bytes", name, version, maxManifests)
		}
		return text, nil
	}
}

// clusterServices returns the services of actions and the calls of agents for the
// cluster of a project; none without a cluster.
func clusterServices(p *project.Project, content *blobs.Store) (engine.Services, map[string]remote.CallFunc) {
	services, c := engine.Services{}, p.Cluster
	if c == nil {
		return services, nil
	}
	ring := &keyring.Keyring{}
	engine.Provide(services, ring)
	engine.Provide(services, kube.NewAccess(ring))
	engine.Provide(services, artifactReader(p, content))
	engine.Provide(services, c)
	engine.Provide(services, p.Addons)
	file := shellquote.Word(p.Inventory.File)
	engine.Provide(services, preflight.Commands{Upgrade: "deployer upgrade -i " + file, ScaleUp: "deployer scale-up -i " + file})
	return services, control.Calls(ring, c)
}
