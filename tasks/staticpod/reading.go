package staticpod

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
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

func (r *Reload) stamps(sys engine.System) map[string]receipt.Stamp {
	out := map[string]receipt.Stamp{}
	for _, path := range r.Files {
		if s, err := receipt.Take(sys, path); err == nil {
			out[path] = s
		}
	}
	return out
}

// unread returns a file that has changed since the container read it, or that a dry run
// would change before this step; empty for none. Missing files do not count.
func (r *Reload) unread(ctx context.Context, sys engine.System, t target) (string, error) {
	var last reading
	known := receipt.Read(sys, r.receiptPath(), &last) && last.Container == t.container
	var created time.Time
	for _, path := range r.Files {
		if view, ok := sys.(engine.DryRunView); ok && view.WouldChange(path) {
			return path, nil
		}
		now, err := receipt.Take(sys, path)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return "", fmt.Errorf("reading the state of %s: %w", path, err)
		}
		if known {
			if now != last.Files[path] {
				return path, nil
			}
			continue
		}
		if created.IsZero() {
			if created, err = r.created(ctx, sys, t.container); err != nil {
				return "", err
			}
		}
		if time.Unix(0, now.MTime).After(created) {
			return path, nil
		}
	}
	return "", nil
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
