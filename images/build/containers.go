package build

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"deployer/images"

	v1 "github.com/google/go-containerregistry/pkg/v1"
)

// searchPath is the PATH of the publishers' images.
const searchPath = "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"

// configOf returns the configuration of an image, as its publisher sets it.
func configOf(name string) v1.Config {
	config := v1.Config{Env: []string{searchPath}, WorkingDir: "/"}
	switch name {
	case "coredns":
		// An ordinary user can bind port 53: containerd 2 opens low ports to all
		// (enable_unprivileged_ports).
		config.Entrypoint, config.User = []string{"/coredns"}, "65532:65532"
	case "pause":
		config.Entrypoint, config.User = []string{"/pause"}, "65535:65535"
	case "nginx":
		config.Cmd, config.StopSignal = []string{"nginx", "-g", "daemon off;"}, "SIGQUIT"
	case "haproxy":
		config.Cmd, config.StopSignal = []string{"haproxy", "-W", "-db", "-f", "/usr/local/etc/haproxy/haproxy.cfg"}, "SIGUSR1"
	default:
		config.Entrypoint = []string{"/usr/local/bin/" + name}
	}
	return config
}

// static is the recipe for an image with one static program, and with CA certificates
// where the program makes outgoing connections.
func (b *builder) static(ctx context.Context, a images.Artifact, version string, m module) (output, error) {
	var roots []deb
	origin := b.fromModule(m)
	if !m.own {
		debs, err := b.debs.closure(ctx, "ca-certificates")
		if err != nil {
			return output{}, err
		}
		roots = []deb{find(debs, "ca-certificates")}
		origin += ", Debian package ca-certificates " + roots[0].Version
	}
	key, err := m.key(b.goVersion, b.arch)
	program := strings.TrimPrefix(configOf(a.Name).Entrypoint[0], "/")
	return output{
		ref: b.ref(a, version), key: keyOf(key, debKey(roots)), origin: origin,
		make: func(ctx context.Context, path string) error {
			bin, err := b.binaries(ctx, m)
			if err != nil {
				return err
			}
			t := minimal()
			if err := t.program(program, bin(a.Name)); err != nil {
				return err
			}
			if len(roots) > 0 {
				if err := t.withRoots(ctx, b.debs, roots); err != nil {
					return err
				}
			}
			return b.image(path, a, b.ref(a, version), t)
		},
	}, err
}

// kubeProxy is the recipe for kube-proxy, which needs the tools of both packet filters
// of the kernel.
func (b *builder) kubeProxy(ctx context.Context, a images.Artifact, version string) (output, error) {
	debs, err := b.debs.closure(ctx, "conntrack", "ipset", "iptables", "kmod", "nftables")
	if err != nil {
		return output{}, err
	}
	m, shim := kubernetesModule(version), module{name: "shim", own: true}
	key, err := b.keys(m, shim)
	return output{
		ref: b.ref(a, version), key: keyOf(key, debKey(debs)), origin: b.fromModule(m) + ", Debian packages " + debNames(debs),
		make: func(ctx context.Context, path string) error {
			bin, err := b.binaries(ctx, m)
			if err != nil {
				return err
			}
			t, err := b.withShim(ctx, debs, shim, tableNames()...)
			if err != nil {
				return err
			}
			if err := t.missingLibraries(); err != nil {
				return err
			}
			if err := t.program("usr/local/bin/kube-proxy", bin("kube-proxy")); err != nil {
				return err
			}
			return b.image(path, a, b.ref(a, version), t)
		},
	}, err
}

// tableNames are the commands that Debian provides as alternatives, and the shim here.
func tableNames() []string {
	var names []string
	for _, family := range []string{"iptables", "ip6tables"} {
		for _, suffix := range []string{"", "-save", "-restore"} {
			names = append(names, "usr/sbin/"+family+suffix)
		}
	}
	return names
}

// balancer is the recipe for nginx or haproxy from Debian's packages; the tag names the
// origin.
func (b *builder) balancer(ctx context.Context, a images.Artifact) (output, error) {
	roots := []string{a.Name}
	if a.Name == "nginx" {
		roots = append(roots, "libnginx-mod-stream")
	}
	debs, err := b.debs.closure(ctx, roots...)
	if err != nil {
		return output{}, err
	}
	shim := module{name: "shim", own: true}
	key, err := b.keys(shim)
	ref := b.ref(a, debianVersion(find(debs, a.Name)))
	return output{
		ref: ref, key: keyOf(key, debKey(debs)), origin: "Debian packages " + debNames(debs),
		make: func(ctx context.Context, path string) error {
			t, err := b.balancerTree(ctx, a.Name, debs, shim)
			if err != nil {
				return err
			}
			if err := t.missingLibraries(); err != nil {
				return err
			}
			return b.image(path, a, ref, t)
		},
	}, err
}

func (b *builder) balancerTree(ctx context.Context, name string, debs []deb, shim module) (tree, error) {
	if name == "haproxy" {
		t, err := debian(ctx, b.debs, debs)
		if err == nil {
			t.dir("var/lib/haproxy", 0o755)
			t.dir("usr/local/etc/haproxy", 0o755)
			t.link("usr/local/sbin/haproxy", "/usr/sbin/haproxy")
		}
		return t, err
	}
	t, err := b.withShim(ctx, debs, shim)
	if err != nil {
		return nil, err
	}
	if err := t.move("usr/sbin/nginx", "usr/libexec/nginx"); err != nil {
		return nil, err
	}
	t.link("usr/sbin/nginx", "/usr/libexec/shim")
	// The tree is as in the publisher's image: logs go to the container's output, and the
	// directories for request bodies exist.
	t.link("var/log/nginx/access.log", "/dev/stdout")
	t.link("var/log/nginx/error.log", "/dev/stderr")
	for _, dir := range []string{"body", "fastcgi", "proxy", "scgi", "uwsgi"} {
		t.dir("var/lib/nginx/"+dir, 0o755)
	}
	return t, nil
}

// withShim returns a Debian root with the shim under further names.
func (b *builder) withShim(ctx context.Context, debs []deb, shim module, names ...string) (tree, error) {
	bin, err := b.binaries(ctx, shim)
	if err != nil {
		return nil, err
	}
	t, err := debian(ctx, b.debs, debs)
	if err != nil {
		return nil, err
	}
	if err := t.program("usr/libexec/shim", bin("shim")); err != nil {
		return nil, err
	}
	for _, name := range names {
		t.link(name, "/usr/libexec/shim")
	}
	return t, nil
}

// image writes the tree as an image archive to path.
func (b *builder) image(path string, a images.Artifact, ref images.Ref, t tree) (err error) {
	layer := filepath.Join(filepath.Dir(path), ".layer-"+a.Name+".tar")
	defer os.Remove(layer)
	if err := writeThrough(layer, t.write); err != nil {
		return err
	}
	img, err := images.Assemble(layer, b.arch, configOf(a.Name))
	if err != nil {
		return err
	}
	return writeThrough(path, func(w io.Writer) error { return images.WriteImage(w, a.ImageName(ref), img) })
}

func debKey(debs []deb) string {
	var digests []string
	for _, d := range debs {
		digests = append(digests, d.SHA256)
	}
	return strings.Join(digests, " ")
}

func debNames(debs []deb) string {
	var names []string
	for _, d := range debs {
		names = append(names, fmt.Sprintf("%s %s", d.Name, d.Version))
	}
	return strings.Join(names, ", ")
}
