package staticpod

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"deployer/engine"
	"deployer/tasks/receipt"
)

// reading is the receipt of a reload: the files as the container has read them. Times
// are compared only for a container that was not reloaded since it started.
type reading struct {
	Container string                   `json:"container"` // id
	Files     map[string]receipt.Stamp `json:"files"`
}

func (r *Reload) receiptPath() string { return receipt.Path("static-pod", r.Manifest, r.Container) }

// stamps returns the stamps of the files. A missing file has an empty one, so that it
// counts as changed when it is there.
func (r *Reload) stamps(sys engine.System) map[string]receipt.Stamp {
	out := map[string]receipt.Stamp{}
	for _, path := range r.Files {
		out[path], _ = receipt.Take(sys, path)
	}
	return out
}

// unread returns a file that the container has not read since it changed; empty for none.
func (r *Reload) unread(ctx context.Context, sys engine.System, t target) (string, error) {
	var last reading
	if !receipt.Read(sys, r.receiptPath(), &last) || last.Container != t.container {
		last = reading{}
	}
	return receipt.Unread(sys, r.Files, last.Files, func() (time.Time, error) { return r.created(ctx, sys, t.container) })
}

// created returns when containerd created a container, which is before its program has
// read anything.
func (r *Reload) created(ctx context.Context, sys engine.System, container string) (time.Time, error) {
	out, err := r.pod().containerd(sys).Run(ctx, "containers", "info", container)
	if err != nil {
		return time.Time{}, err
	}
	var info struct{ CreatedAt time.Time }
	if err := json.Unmarshal([]byte(out), &info); err != nil {
		return time.Time{}, fmt.Errorf("reading what containerd knows of container %s: %w", container, err)
	}
	return info.CreatedAt, nil
}
