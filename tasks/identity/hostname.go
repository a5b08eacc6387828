// Package identity has the modules for the host's name, /etc/hosts and the time zone.
package identity

import (
	"context"
	"fmt"
	"os"
	"strings"

	"deployer/argrule"
	"deployer/engine"
	"deployer/tasks/file"
	"deployer/tasks/hostcmd"
)

// Hostname manages the host's name.
type Hostname struct {
	Name string `yaml:"name" rule:"hostname" required:"true" doc:"lower case letters, digits, dashes and dots; at most 63 characters a part"`
}

var (
	_ engine.Module = (*Hostname)(nil)
	_ engine.Module = (*HostsEntry)(nil)
)

func (h *Hostname) file() *file.File {
	return &file.File{Path: "/etc/hostname", Content: new(h.Name + "\n"), Follow: true}
}

func (h *Hostname) live(sys engine.System) (string, error) {
	data, err := os.ReadFile(sys.Path("/proc/sys/kernel/hostname"))
	return strings.TrimSpace(string(data)), err
}

// Check compares the kernel's name and /etc/hostname.
func (h *Hostname) Check(ctx context.Context, sys engine.System) (engine.Change, error) {
	if err := argrule.Check("hostname", h.Name); err != nil || h.Name == "" {
		return engine.Change{}, fmt.Errorf("%q is not a host name: use lower case letters, digits, dashes and dots", h.Name)
	}
	change, err := h.file().Check(ctx, sys)
	if err != nil {
		return engine.Change{}, err
	}
	live, err := h.live(sys)
	if err != nil {
		return engine.Change{}, err
	}
	if live != h.Name {
		change.Needed = true
		change.Effects = append(change.Effects, engine.Effect{
			Kind: engine.EffectKernel, Target: "hostname", Action: fmt.Sprintf("set %q -> %q", live, h.Name),
		})
	}
	return change, nil
}

// Apply writes /etc/hostname and sets the kernel's name.
func (h *Hostname) Apply(ctx context.Context, sys engine.System, _ engine.Change) (engine.Output, error) {
	f := h.file()
	change, err := f.Check(ctx, sys)
	if err == nil && change.Needed {
		_, err = f.Apply(ctx, sys, change)
	}
	if err != nil {
		return nil, err
	}
	live, err := h.live(sys)
	if err != nil || live == h.Name {
		return nil, err
	}
	if err := sys.BackupState("hostname", "hostname", engine.State{"name": live}); err != nil {
		return nil, err
	}
	if _, err := hostcmd.Run(ctx, sys, "hostname", "--", h.Name); err != nil {
		return nil, fmt.Errorf("setting the running host's name: %w", err)
	}
	return nil, nil
}
