package image

import (
	"context"

	"deployer/engine"
	"deployer/tasks/containerd"
	"deployer/tasks/receipt"
)

// state is the host's state of the images of a task.
type state struct {
	images  []containerd.Image
	present map[string]bool // names of images
	pinned  map[string]bool // names of the images that are pinned for the task's set
	answers bool            // containerd answers; it may not be installed yet
}

// read queries containerd once. When containerd does not answer, no image is present.
func (i *Import) read(ctx context.Context, sys engine.System) state {
	images, err := containerd.Connect(sys, i.Ctr, i.Socket).Images(ctx)
	s := state{images: images, present: map[string]bool{}, pinned: map[string]bool{}, answers: err == nil}
	for _, image := range images {
		s.present[image.Ref] = true
		if i.Pin != "" && image.PinnedFor == i.Pin {
			s.pinned[image.Ref] = true
		}
	}
	return s
}

// refs returns the names of an imported tarball by its receipt; nil when one of them is
// missing.
func (s state) refs(sys engine.System, t Tarball) []string {
	var rec record
	if !receipt.Read(sys, t.receiptPath(), &rec) || s.lacks(rec.Refs) != "" {
		return nil
	}
	return rec.Refs
}

// lacks returns the first wanted name that is missing.
func (s state) lacks(want []string) string {
	for _, ref := range want {
		if !s.present[ref] {
			return ref
		}
	}
	return ""
}

// missing returns the tarballs to import.
func (i *Import) missing(sys engine.System, s state) []Tarball {
	var out []Tarball
	for _, t := range i.Images {
		if len(s.refs(sys, t)) == 0 {
			out = append(out, t)
		}
	}
	return out
}

// leftovers returns the names of other versions of images of which only one must exist.
// A tarball without a receipt has none.
func (i *Import) leftovers(sys engine.System, s state) []string {
	var wanted []string
	for _, t := range i.Images {
		var rec record
		if t.Only && receipt.Read(sys, t.receiptPath(), &rec) {
			wanted = append(wanted, rec.Refs...)
		}
	}
	if len(wanted) == 0 {
		return nil
	}
	return stale(s.images, wanted)
}
