package addons

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/google/go-containerregistry/pkg/name"
)

// Image is an image that containers of an add-on name.
type Image struct {
	Repository string // full name, such as docker.io/library/nginx
	Tag        string
}

// images returns the images of all containers in objects and hooks, sorted. An image that is named
// by its digest is an error, because nodes would look for it under that name.
func (a *Addon) images() ([]Image, error) {
	found := map[string]bool{}
	for _, o := range a.Objects {
		collectImages(o.Object, found)
	}
	for _, h := range a.Hooks {
		collectImages(h.Object.Object, found)
	}
	var out []Image
	for _, text := range slices.Sorted(maps.Keys(found)) {
		tag, err := name.NewTag(text)
		if err != nil {
			return nil, fmt.Errorf("image %q cannot be delivered, because it has no plain name and tag; set one, or images: pull", text)
		}
		image := Image{strings.Replace(tag.Repository.Name(), "index.docker.io/", "docker.io/", 1), tag.TagStr()}
		if !slices.Contains(out, image) {
			out = append(out, image)
		}
	}
	return out, nil
}

// collectImages adds the images of containers below a value, at any depth: an object of an operator
// may have a pod template, too.
func collectImages(v any, found map[string]bool) {
	switch v := v.(type) {
	case map[string]any:
		for key, value := range v {
			if list, ok := value.([]any); ok && (key == "containers" || key == "initContainers") {
				for _, item := range list {
					container, _ := item.(map[string]any)
					if image, _ := container["image"].(string); image != "" {
						found[image] = true
					}
				}
			}
			collectImages(value, found)
		}
	case []any:
		for _, item := range v {
			collectImages(item, found)
		}
	}
}
