package main

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"deployer/test/lab/lab"
	"deployer/test/lab/plan"
)

// importImages imports on a host all images that it may run.
func importImages(ctx context.Context, l *lab.Lab, h plan.Host, m *material) error {
	for _, name := range slices.Sorted(maps.Keys(m.images)) {
		if h.Role != "master" && slices.Contains(m.controlPlane, name) {
			continue
		}
		if err := send(ctx, l, h.Name, "ctr -n k8s.io images import -", m.images[name]); err != nil {
			return fmt.Errorf("importing %s: %w", name, err)
		}
	}
	return nil
}

// checkImages fails when a host lacks an image that kubeadm names: a pull that
// cannot succeed would be measured as minutes of waiting.
func checkImages(ctx context.Context, l *lab.Lab, m *material) error {
	out, err := l.SSH(ctx, l.Hosts[0].Name, "kubeadm config images list --config "+initConfigPath)
	if err != nil {
		return err
	}
	listed := strings.Fields(out)
	for _, h := range l.Hosts {
		if err := tagPause(ctx, l, h, m.pause, listed); err != nil {
			return err
		}
		have, err := l.SSH(ctx, h.Name, "ctr -n k8s.io images ls -q")
		if err != nil {
			return err
		}
		for _, name := range listed {
			unused := h.Role != "master" && slices.Contains(m.controlPlane, name)
			if !unused && !slices.Contains(strings.Fields(have), name) {
				return fmt.Errorf("%s lacks the image %s", h.Name, name)
			}
		}
	}
	return nil
}

// tagPause gives the image of pod sandboxes the name that kubeadm looks for. kubeadm
// requires a certain patch release, while the setting of containerd determines the
// image in use.
func tagPause(ctx context.Context, l *lab.Lab, h plan.Host, have string, listed []string) error {
	repository, _, _ := strings.Cut(have, ":")
	for _, name := range listed {
		if strings.HasPrefix(name, repository+":") && name != have {
			if _, err := l.SSH(ctx, h.Name, "ctr -n k8s.io images tag "+have+" "+name); err != nil {
				return err
			}
		}
	}
	return nil
}
