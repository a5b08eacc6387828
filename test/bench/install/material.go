package main

import (
	"context"
	"embed"
	"fmt"
	"path/filepath"
	"runtime"
	"slices"

	"deployer/images"
	"deployer/images/build"
	"deployer/test/lab/plan"
)

// kubeadmModule has the module set of kubeadm, which needs modules that the programs
// of deployer's set do not. Modules in both sets have the same version.
//
//go:embed kubeadm/go.mod.txt kubeadm/go.sum.txt
var kubeadmModule embed.FS

// material is everything that the kubeadm hosts get before the measured time.
type material struct {
	programs map[string]string // path on the host -> file
	archives map[string]string // directory on the host -> tar.gz that is unpacked there
	// images has the archives of images by name; those of controlPlane are for
	// masters only.
	images       map[string]string
	controlPlane []string
	versions     map[string]string // by artifact
	pause        string            // the image of pod sandboxes
}

// masterImages are the images that only masters run.
func masterImages() []string {
	return []string{"kube-apiserver", "kube-controller-manager", "kube-scheduler"}
}

// gather finds or builds the material, for the Kubernetes version that deployer
// installs in a lab.
func (b *benchmark) gather(ctx context.Context) (*material, error) {
	catalogue, err := images.Embedded()
	if err != nil {
		return nil, err
	}
	index, err := images.ReadIndex(b.artifacts)
	if err != nil {
		return nil, fmt.Errorf("%w; make it with `make artifacts`", err)
	}
	m := &material{programs: map[string]string{}, archives: map[string]string{}, images: map[string]string{}, versions: map[string]string{}}
	for _, a := range catalogue.Artifacts {
		if a.Set != "" {
			continue // the network of the benchmark is deployer's own
		}
		if err := m.add(catalogue, index, b.artifacts, a); err != nil {
			return nil, err
		}
	}
	if m.programs["/usr/bin/kubeadm"], err = b.buildKubeadm(ctx, catalogue); err != nil {
		return nil, err
	}
	name, path, err := b.etcdImage(index, m.versions["etcd"])
	if err != nil {
		return nil, fmt.Errorf("making the image of etcd: %w", err)
	}
	m.images[name] = path
	m.controlPlane = append(m.controlPlane, name)
	return m, nil
}

// add adds one artifact, in the version that the directory of artifacts has.
func (m *material) add(catalogue *images.Catalogue, index *images.Index, dir string, a images.Artifact) error {
	version, err := catalogue.Version(a.Name, plan.Kubernetes)
	if err != nil {
		return err
	}
	if own := index.Versions[a.Name]; own != "" {
		version = own
	}
	ref := images.Ref{Name: a.Name, Version: version, Arch: runtime.GOARCH}
	entry, ok := index.Find(ref)
	if !ok {
		return fmt.Errorf("%s holds no %s; make it with `make artifacts`", dir, ref)
	}
	file := filepath.Join(dir, filepath.FromSlash(entry.File))
	m.versions[a.Name] = version
	switch a.Name {
	case "kubelet", "kubectl":
		m.programs["/usr/bin/"+a.Name] = file
	case "runc":
		m.programs["/usr/local/sbin/runc"] = file
	case "containerd":
		m.archives["/usr/local"] = file
	case "cni-plugins":
		m.archives["/opt/cni/bin"] = file
	case "etcd", "nginx", "haproxy": // etcd becomes an image; kubeadm has no proxy
	default:
		name := a.ImageName(ref)
		m.images[name] = file
		if a.Name == "pause" {
			m.pause = name
		}
		if slices.Contains(masterImages(), a.Name) {
			m.controlPlane = append(m.controlPlane, name)
		}
	}
	return nil
}

// buildKubeadm compiles kubeadm unless the cache has it.
func (b *benchmark) buildKubeadm(ctx context.Context, catalogue *images.Catalogue) (string, error) {
	extra := build.Extra{Name: "kubeadm-" + plan.Kubernetes, Kubernetes: plan.Kubernetes}
	var err error
	if extra.GoMod, err = kubeadmModule.ReadFile("kubeadm/go.mod.txt"); err != nil {
		return "", err
	}
	if extra.GoSum, err = kubeadmModule.ReadFile("kubeadm/go.sum.txt"); err != nil {
		return "", err
	}
	dir, err := build.Programs(ctx, catalogue, build.Options{Dir: b.artifacts, Work: filepath.Join(b.cache, "build")}, extra)
	return filepath.Join(dir, "kubeadm"), err
}
