package image

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	"deployer/engine"
	"deployer/tasks/receipt"
)

// Import imports image tarballs into containerd's namespace k8s.io, which the kubelet
// uses.
type Import struct {
	Images []Tarball `yaml:"images" required:"true" doc:"image archives, imported two at a time"`
	Pin    string    `yaml:"pin" rule:"filename" doc:"name of a set of pinned images: the kubelet does not remove them to free disk space; images no longer listed in the task are unpinned. Default none"`
	Ctr    string    `yaml:"ctr" rule:"path" doc:"path of the ctr program; default /usr/local/bin/ctr, else ctr from the search path"`
	Socket string    `yaml:"socket" rule:"path" doc:"containerd's socket; default /run/containerd/containerd.sock"`
}

// Tarball is a tar of one or several images, by docker save or as an OCI layout.
type Tarball struct {
	Name string `yaml:"name" rule:"line" doc:"name in output; default the digest"`
	Blob string `yaml:"blob" rule:"sha256" required:"true" doc:"hex SHA-256 of the tarball"`
	Only bool   `yaml:"only" doc:"remove other versions of the images in the archive; default false"`
}

func (t Tarball) name() string { return cmp.Or(t.Name, t.Blob) }

func (t Tarball) receiptPath() string { return receipt.Path("image", t.Blob) }

// record is the receipt of an imported tarball, with the names of its images.
type record struct {
	Refs []string `json:"refs"`
}

// Check compares the receipts with containerd's names. When containerd does not answer,
// because it may not be installed yet, every image counts as missing.
func (i *Import) Check(ctx context.Context, sys engine.System) (engine.Change, error) {
	if len(i.Images) == 0 {
		return engine.Change{}, errors.New("images is empty")
	}
	for _, t := range i.Images {
		if t.Blob == "" {
			return engine.Change{}, fmt.Errorf("image %q has no blob", t.Name)
		}
	}
	var change engine.Change
	now := i.read(ctx, sys)
	for _, t := range i.missing(sys, now) {
		change.Effects = append(change.Effects, engine.Effect{Kind: engine.EffectImage, Target: t.name(), Action: "import"})
	}
	for _, ref := range i.leftovers(sys, now) {
		change.Effects = append(change.Effects, engine.Effect{Kind: engine.EffectImage, Target: ref, Action: "remove"})
	}
	pins := i.pins(sys, now)
	for _, ref := range pins.add {
		change.Effects = append(change.Effects, engine.Effect{Kind: engine.EffectImage, Target: ref, Action: "pin"})
	}
	for _, ref := range pins.drop {
		change.Effects = append(change.Effects, engine.Effect{Kind: engine.EffectImage, Target: ref, Action: "unpin"})
	}
	change.Needed = len(change.Effects) > 0
	return change, nil
}
