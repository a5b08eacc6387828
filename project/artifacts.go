package project

import (
	"cmp"
	"context"
	"fmt"
	"path/filepath"

	"deployer/cluster"
	"deployer/images"
	"deployer/inventory"
	"deployer/roles"
	"deployer/strictyaml"
)

// ProbeName is the image that verify runs on nodes, as an artifact. It is made of
// the agent that deployer carries, so no registry needs to have it.
const ProbeName = "probe"

// ArtifactsSpec is the section `artifacts` of an inventory.
type ArtifactsSpec struct {
	Source        string   `yaml:"source" doc:"Where binaries and images come from: upstream, an http(s) address of a mirror, or a directory; default upstream."`
	Architectures []string `yaml:"architectures" doc:"Architectures of the hosts: amd64, arm64; default amd64."`
}

func artifactsOf(inv *inventory.Inventory) (ArtifactsSpec, error) {
	spec := ArtifactsSpec{Architectures: []string{"amd64"}}
	if err := strictyaml.DecodeAs(inv.File, "artifacts", inv.Artifacts, &spec); err != nil {
		return spec, err
	}
	if len(spec.Architectures) == 0 {
		return spec, strictyaml.At(inv.File, inv.Artifacts).Errorf("artifacts.architectures is empty: name at least one of amd64, arm64")
	}
	return spec, nil
}

// resolver opens the store, the lock file and the source of artifacts.
func resolver(inv *inventory.Inventory, spec ArtifactsSpec) (*images.Resolver, error) {
	catalogue, err := images.Embedded()
	if err != nil {
		return nil, err
	}
	root, err := images.DefaultRoot()
	if err != nil {
		return nil, err
	}
	store, err := images.OpenStore(root)
	if err != nil {
		return nil, err
	}
	lock, err := images.ReadLock(filepath.Join(inv.Dir, "deployer.lock"))
	if err != nil {
		return nil, Mistaken(err)
	}
	source, err := images.OpenSource(spec.Source, inv.Dir)
	if err != nil {
		return nil, Mistaken(fmt.Errorf("%s: %w", inv.File, err))
	}
	return &images.Resolver{Catalogue: catalogue, Store: store, Lock: lock, Source: source}, nil
}

// nameArtifacts lists what the cluster needs: of the two API proxies only the one
// that it uses.
func (p *Project) nameArtifacts(architectures []string) error {
	versions := roles.Versions(p.Cluster)
	p.images = map[string]string{}
	for _, name := range p.Artifacts.Catalogue.Names() {
		artifact, err := p.Artifacts.Catalogue.Artifact(name)
		if err != nil {
			return err
		}
		version, ok := versions[name]
		if !ok {
			return fmt.Errorf("artifact %s of the catalogue has no version in the cluster", name)
		}
		ref := images.Ref{Name: name, Version: version}
		if artifact.Kind == images.KindImage {
			p.images[name] = artifact.ImageName(ref)
		}
		if other := (name == cluster.ProxyNginx || name == cluster.ProxyHAProxy) && name != p.Cluster.Proxy.Kind; other {
			continue
		}
		for _, arch := range architectures {
			ref.Arch = arch
			p.Needed = append(p.Needed, ref)
		}
	}
	return nil
}

// ImageDigests are the digests of the manifests of the container images that the
// cluster needs, of those that the lock file has: by their names in the catalogue and
// then by architecture.
func (p *Project) ImageDigests() map[string]map[string]string {
	out := map[string]map[string]string{}
	for _, ref := range p.Needed {
		pin, ok := p.Artifacts.Lock.Pin(ref)
		if p.images[ref.Name] == "" || !ok {
			continue
		}
		if out[ref.Name] == nil {
			out[ref.Name] = map[string]string{}
		}
		// A source that names no manifest has the archive's own digest.
		out[ref.Name][ref.Arch] = cmp.Or(pin.Manifest, "sha256:"+pin.SHA256)
	}
	return out
}

// Fetch brings the artifacts that are missing into the store, checked and pinned;
// when none is, it is quick and tells of nothing. told may be nil.
func (p *Project) Fetch(ctx context.Context, told func(images.Progress)) error {
	return p.Artifacts.Fetch(ctx, p.Needed, told)
}
