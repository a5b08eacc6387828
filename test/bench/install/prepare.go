package main

import (
	"bytes"
	"context"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"

	"golang.org/x/sync/errgroup"

	"deployer/shellquote"
	"deployer/test/lab/lab"
)

// preparedAtOnce is the number of hosts that are prepared at a time: the machine is busy
// with two.
const preparedAtOnce = 2

// prepare brings the hosts into the state with which kubeadm's guide begins:
// container runtime running, network configured, programs in place, every image
// imported.
func prepare(ctx context.Context, l *lab.Lab, m *material, o overrides) error {
	work, ctx := errgroup.WithContext(ctx)
	work.SetLimit(preparedAtOnce)
	for i, h := range l.Hosts {
		work.Go(func() error {
			if err := prepareHost(ctx, l, i, m, o); err != nil {
				return fmt.Errorf("preparing %s for kubeadm: %w", h.Name, err)
			}
			return nil
		})
	}
	return work.Wait()
}

func prepareHost(ctx context.Context, l *lab.Lab, i int, m *material, o overrides) error {
	h := l.Hosts[i]
	for _, target := range slices.Sorted(maps.Keys(m.programs)) {
		if err := send(ctx, l, h.Name, place(target, "0755"), m.programs[target]); err != nil {
			return err
		}
	}
	for _, dir := range slices.Sorted(maps.Keys(m.archives)) {
		if err := send(ctx, l, h.Name, fmt.Sprintf("mkdir -p %[1]s && tar -xzf - -C %[1]s", dir), m.archives[dir]); err != nil {
			return err
		}
	}
	files, err := configFiles(i, m, o)
	if err != nil {
		return err
	}
	for _, target := range slices.Sorted(maps.Keys(files)) {
		if err := feed(ctx, l, h.Name, place(target, "0644"), bytes.NewReader(files[target])); err != nil {
			return err
		}
	}
	start := strings.Join(append(routes(i, l.Hosts),
		"sysctl -qw net.ipv4.ip_forward=1",
		"systemctl daemon-reload",
		"systemctl enable -q kubelet",
		"systemctl enable -q --now containerd", // Type=notify: it returns when containerd serves
	), " && ")
	if _, err := l.SSH(ctx, h.Name, start); err != nil {
		return err
	}
	return importImages(ctx, l, h, m)
}

// place returns a shell line that writes standard input to a file by renaming,
// because the file of a running program cannot be written to.
func place(target, mode string) string {
	return fmt.Sprintf("mkdir -p %[1]s && cat > %[2]s.new && chmod %[3]s %[2]s.new && mv %[2]s.new %[2]s",
		path.Dir(target), shellquote.Line([]string{target}), mode)
}
