package project

import (
	"cmp"
	"context"
	"fmt"
	"path/filepath"
	"slices"

	"deployer/cluster"
	"deployer/images"
	"deployer/inventory"
	"deployer/strictyaml"
)

// ProbeName is the artifact name of the image that verify runs on nodes. The image is
// built from the embedded agent, so no registry has to offer it.
const ProbeName = "probe"

// KeeperName is the artifact name of the keeper of masters, which is embedded, too.
const KeeperName = "keeper"

// AgentName is the artifact name of the agent as a program that stays on nodes.
const AgentName = "agent"

// KeeperSource has the keepers.
type KeeperSource interface {
	// KeeperBinary returns the keeper for an architecture by Go's name (amd64, arm64).
	KeeperBinary(arch string) ([]byte, error)
	// CarriesKeeper returns an error when there is no keeper for an architecture.
	CarriesKeeper(arch string) error
}

// ArtifactsSpec is the section `artifacts` of an inventory.
type ArtifactsSpec struct {
	Source        string   `yaml:"source" doc:"Source of binaries and images: upstream, an http(s) address of a mirror, a directory, or a bundle; default upstream."`
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

// resolver opens the store, the lock file and the source of artifacts, which is a bundle
// when the options name one.
func resolver(inv *inventory.Inventory, spec ArtifactsSpec, o Options, files sourceFiles) (*images.Resolver, error) {
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
		return nil, AsUserError(err)
	}
	source, err := openSource(inv, spec, o, files)
	if err != nil {
		return nil, AsUserError(err)
	}
	return &images.Resolver{Catalogue: catalogue, Store: store, Lock: lock, Source: source}, nil
}

func openSource(inv *inventory.Inventory, spec ArtifactsSpec, o Options, files sourceFiles) (images.Source, error) {
	if o.Bundle != "" {
		bundle, err := images.OpenBundle(o.Bundle, o.BundleKey)
		if err != nil {
			return nil, err
		}
		return images.WithCharts(bundle, nil), nil
	}
	logins, err := registryLogins(inv, files)
	if err != nil {
		return nil, err
	}
	if files.hides(spec.Source, inv.Dir) { // what it offers instead of the default versions is unknown
		return images.WithCharts(images.NewUpstream(logins), logins), nil
	}
	source, err := images.OpenSource(spec.Source, inv.Dir, logins)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", inv.File, err)
	}
	return images.WithCharts(source, logins), nil
}

// listArtifacts sets Needed and the names of container images.
func (p *Project) listArtifacts(architectures []string) error {
	needed, versions := neededVersions(p.Cluster), ClusterVersions(p.Cluster)
	p.images = map[string]string{}
	for _, name := range p.Artifacts.Catalogue.Names() {
		if len(needed[name]) == 0 {
			return fmt.Errorf("artifact %s of the catalogue has no version in the cluster", name)
		}
		if ref := p.imageName(name, versions[name]); ref != "" {
			p.images[name] = ref
		}
		if artifact, err := p.Artifacts.Catalogue.Artifact(name); err != nil || !p.needs(artifact) {
			continue
		}
		for _, version := range needed[name] {
			for _, arch := range architectures {
				p.Needed = append(p.Needed, images.Ref{Name: name, Version: version, Arch: arch})
			}
		}
	}
	return nil
}

// needs reports whether the cluster needs the artifact: of the API proxies the configured one,
// and of the sets the one that is named after the network plugin.
func (p *Project) needs(a images.Artifact) bool {
	switch {
	case a.Name == cluster.ProxyNginx, a.Name == cluster.ProxyHAProxy:
		return a.Name == p.Cluster.Proxy.Kind
	case a.Set != "":
		return a.Set == p.Cluster.Network.Plugin
	}
	return true
}

// imageName returns the full reference of a container image; "" for other artifacts.
func (p *Project) imageName(name, version string) string {
	artifact, err := p.Artifacts.Catalogue.Artifact(name)
	if err != nil || artifact.Kind != images.KindImage {
		return ""
	}
	return artifact.ImageName(images.Ref{Name: name, Version: version})
}

// ImageDigests returns the manifest digests of the cluster's container images that are
// in the lock file, by full reference and architecture.
func (p *Project) ImageDigests() map[string]map[string]string {
	out := map[string]map[string]string{}
	for _, ref := range p.Needed {
		pin, ok := p.Artifacts.Lock.Pin(ref)
		name := p.imageName(ref.Name, ref.Version)
		if name == "" || !ok {
			continue
		}
		if out[name] == nil {
			out[name] = map[string]string{}
		}
		// A source without manifests has only the digest of the archive.
		out[name][ref.Arch] = cmp.Or(pin.Manifest, "sha256:"+pin.SHA256)
	}
	return out
}

// ImageManifests returns the manifest digests of a container image by architecture, as the
// lock file has them for the cluster; nil when the cluster does not use the image.
func (p *Project) ImageManifests(image, version string) map[string]string {
	for _, ref := range p.Needed {
		if ref.Version == version && p.imageName(ref.Name, ref.Version) == image+":"+version {
			return p.ImageDigests()[image+":"+version]
		}
	}
	return nil
}

// Fetch downloads missing artifacts into the store, verifies and pins them, and renders the
// add-ons whose charts were missing, whose images it fetches, too. Fetch does not call onProgress when none is missing; onProgress may be nil.
func (p *Project) Fetch(ctx context.Context, onProgress func(images.Progress)) error {
	required := slices.DeleteFunc(slices.Clone(p.Needed), p.isOptional)
	if err := p.Artifacts.Fetch(ctx, required, onProgress); err != nil {
		return err
	}
	if err := p.fetchOptional(ctx, onProgress); err != nil {
		return err
	}
	if p.Addons == nil || !p.Addons.Unfetched() {
		return nil
	}
	if err := p.readAddons(); err != nil {
		return p.hideSecrets(AsUserError(err))
	}
	return p.Artifacts.Fetch(ctx, p.listAddonImages(), onProgress)
}
