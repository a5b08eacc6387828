// Package image has the module that imports container images into containerd, from
// tarballs that the controller sends; no registry is needed.
package image

import (
	"context"
	"errors"
	"fmt"

	"deployer/engine"
)

// Image keeps images of the catalogue in containerd.
type Image struct {
	Name    string    `yaml:"name" rule:"line" doc:"name in the catalogue; instead of images"`
	Version string    `yaml:"version" rule:"version" doc:"version in the catalogue"`
	Images  []Request `yaml:"images" doc:"several images, imported two at a time"`
	Pin     string    `yaml:"pin" rule:"filename" doc:"name of a set of pinned images: the kubelet does not remove them to free disk space; images no longer listed in the task are unpinned. Default none"`
	Ctr     string    `yaml:"ctr" rule:"path" doc:"path of the ctr program; default ctr"`
	Socket  string    `yaml:"socket" rule:"path" doc:"containerd's socket; default /run/containerd/containerd.sock"`
}

// Request names an image of the catalogue.
type Request struct {
	Name    string `yaml:"name" rule:"line" required:"true" doc:"name in the catalogue"`
	Version string `yaml:"version" rule:"version" required:"true" doc:"version in the catalogue"`
	Only    bool   `yaml:"only" doc:"remove other versions of this image from the host; default false"`
}

var (
	_ engine.Preparer = (*Image)(nil)
	_ engine.Module   = (*Import)(nil)
)

// Prepare resolves the blobs for the host's architecture.
func (i *Image) Prepare(ctx context.Context, c engine.PrepareContext) (string, engine.Module, error) {
	wanted := i.Images
	if i.Name != "" {
		wanted = append([]Request{{Name: i.Name, Version: i.Version}}, wanted...)
	}
	if len(wanted) == 0 {
		return "", nil, errors.New("name and version, or images, are required")
	}
	m := &Import{Pin: i.Pin, Ctr: i.Ctr, Socket: i.Socket}
	for _, w := range wanted {
		blob, err := c.Artifact(ctx, w.Name, w.Version)
		if err != nil {
			return "", nil, fmt.Errorf("finding image %s %s: %w", w.Name, w.Version, err)
		}
		m.Images = append(m.Images, Tarball{Name: w.Name + " " + w.Version, Blob: blob.Digest, Only: w.Only})
	}
	return "image_import", m, nil
}
