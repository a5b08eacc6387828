package project

import (
	"deployer/cluster"
)

// hostImages are the variables images and image_digests of a host.
type hostImages struct{ names, digests map[string]any }

// Images names container images. Cluster maps the catalogue's names to the full references
// in the cluster's versions; Name returns the reference of one version, and "" for an
// artifact that is no image.
type Images struct {
	Cluster map[string]string
	Name    func(artifact, version string) string
}

// ownImages returns the references of a host's images that differ from the cluster's.
func ownImages(n cluster.Node, images Images) map[string]any {
	own := map[string]any{}
	for program, version := range n.Versions.Programs() {
		if ref := images.Name(program, version); ref != "" && ref != images.Cluster[program] {
			own[program] = ref
		}
	}
	return own
}

// SetImageDigests sets image_digests. digests has the manifest digests of images by full
// reference and architecture. The digests are known when the artifacts are pinned, which in a
// first run is after its playbook was compiled. The call must happen before the first
// task is rendered.
func (v *Variables) SetImageDigests(digests map[string]map[string]string) {
	names, _ := v.shared["images"].(map[string]any)
	v.shared["image_digests"] = digestsOf(names, digests)
	for host, own := range v.images {
		own.digests = digestsOf(own.names, digests)
		v.images[host] = own
	}
}

// digestsOf maps the names of images to their digests by architecture.
func digestsOf(names map[string]any, digests map[string]map[string]string) map[string]any {
	all := map[string]any{}
	for name, ref := range names {
		byArch := map[string]any{}
		for arch, digest := range digests[ref.(string)] {
			byArch[arch] = digest
		}
		all[name] = byArch
	}
	return all
}

// SetKeepers sets keeper_architectures.
func (v *Variables) SetKeepers(source KeeperSource) {
	carried := []any{}
	for _, arch := range []string{"amd64", "arm64"} {
		if source != nil && source.CarriesKeeper(arch) == nil {
			carried = append(carried, arch)
		}
	}
	v.shared["keeper_architectures"] = carried
}

// SetAddonImages sets addon_images, which is known when the charts of add-ons are fetched. The call
// must happen before the first task is rendered.
func (v *Variables) SetAddonImages(list []any) { v.shared["addon_images"] = list }
