package project

import (
	"slices"
	"strings"

	"deployer/images"
)

// listAddonImages adds the images that deployer delivers for add-ons to the artifacts, and
// returns those that are new.
func (p *Project) listAddonImages() []images.Ref {
	var added []images.Ref
	p.addonImages = nil
	for _, a := range *p.Addons {
		for _, image := range a.Delivered {
			name := p.imageArtifact(image.Repository)
			if ref := (images.Ref{Name: name, Version: image.Tag}); !slices.Contains(p.addonImages, ref) {
				p.addonImages = append(p.addonImages, ref)
			}
			for _, arch := range p.architectures {
				ref := images.Ref{Name: name, Version: image.Tag, Arch: arch}
				if !slices.Contains(p.Needed, ref) {
					p.Needed, added = append(p.Needed, ref), append(added, ref)
				}
			}
		}
	}
	return added
}

// imageArtifact returns the name of the artifact that is an image, and adds one to the catalogue
// where it has none.
func (p *Project) imageArtifact(repository string) string {
	for _, a := range p.Artifacts.Catalogue.Artifacts {
		if a.Kind == images.KindImage && a.Repository() == repository {
			return a.Name
		}
	}
	name := "image-" + strings.NewReplacer("/", "--", ":", "-").Replace(repository)
	p.Artifacts.Catalogue.Add(images.Artifact{Name: name, Kind: images.KindImage, Image: repository + ":{version}"})
	return name
}

// AddonImages returns the images that nodes get for add-ons, as the variable addon_images has
// them. Those of charts that are not fetched are missing.
func (p *Project) AddonImages() []any {
	out := []any{}
	for _, ref := range p.addonImages {
		out = append(out, map[string]any{"name": ref.Name, "version": ref.Version})
	}
	return out
}
