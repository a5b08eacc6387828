package build

import (
	"context"
	"fmt"
	"io"
	"io/fs"
	"path"
	"slices"
	"strings"

	"deployer/images"
)

// output describes one artifact to make; nothing happens until make is called.
type output struct {
	artifact images.Artifact
	ref      images.Ref
	origin   string
	key      string
	make     func(ctx context.Context, path string) error
	// image has the inputs of an image; nil for files and archives.
	image *imageInputs
}

// imageName returns the name of an image; empty for files and archives.
func (o *output) imageName() string {
	if o.image == nil {
		return ""
	}
	return o.image.file.Name
}

// outputs returns the outputs for one Kubernetes version, bases of images before the
// images on top of them.
func (b *builder) outputs(ctx context.Context, kubernetes string) ([]*output, error) {
	var all []*output
	add := func(o *output) {
		o.key = keyOf(recipeVersion, o.artifact.Name, string(o.artifact.Kind), o.artifact.ImageName(o.ref), o.key)
		all = append(all, o)
	}
	if _, err := b.catalogue.Version(b.catalogue.Names()[0], kubernetes); err != nil {
		return nil, err
	}
	for _, artifact := range b.catalogue.Artifacts {
		if artifact.Kind == images.KindImage || b.options.OnlyImages || !b.wanted(artifact) {
			continue
		}
		version, err := b.catalogue.Version(artifact.Name, kubernetes)
		if err != nil {
			return nil, err
		}
		o, err := b.output(ctx, artifact, version)
		if err != nil {
			return nil, fmt.Errorf("%s %s: %w", artifact.Name, version, err)
		}
		o.artifact = artifact
		add(&o)
	}
	bases := map[string]*output{}
	for _, name := range b.images.WithBases(b.imageNames(kubernetes)...) {
		f, err := b.images.File(name)
		if err != nil {
			return nil, err
		}
		o, err := b.imageOutput(ctx, f, kubernetes, bases)
		if err != nil {
			return nil, err
		}
		bases[name] = o
		add(o)
	}
	return all, nil
}

// imageNames returns the images that the build includes for a Kubernetes version: without names
// those of the catalogue, and with options.OnlyImages all of the graph. Images of conformance tests
// take minutes to build, so they need their set or their name.
func (b *builder) imageNames(kubernetes string) []string {
	return slices.DeleteFunc(b.images.Names(), func(name string) bool {
		if len(b.options.Names) > 0 {
			return !slices.Contains(b.options.Names, name)
		}
		if b.catalogue.HasConformanceImage(name) {
			_, _, ok := b.catalogue.ConformanceArtifact(name, kubernetes)
			return !ok || !slices.Contains(b.options.Sets, images.ConformanceSet)
		}
		if b.options.OnlyImages {
			return false
		}
		artifact, err := b.catalogue.Artifact(name)
		return err != nil || !b.wanted(artifact)
	})
}

// output returns the output for one file or archive.
func (b *builder) output(ctx context.Context, a images.Artifact, version string) (output, error) {
	switch a.Name {
	case "kubelet", "kubectl":
		return b.program(a, version, kubernetesModule(version))
	case "etcd":
		// The publisher's program etcd is main.go of the server module.
		return b.archive(a, version, etcdModule(version), map[string]string{"etcd": "server"})
	case "containerd":
		return b.archive(a, version, containerdModule(version), nil)
	case "cni-plugins":
		return b.archive(a, version, cniModule(version), nil)
	case "calicoctl":
		return b.program(a, calicoVersion, calicoModule())
	case "calico-crds":
		return b.moduleFile(a, calicoVersion, calicoModule(), "manifests/crds.yaml")
	case "runc":
		return b.runc(ctx, a)
	}
	return output{}, fmt.Errorf("the builder has no recipe for this artifact; fetch it from upstream or a mirror")
}

func (b *builder) ref(a images.Artifact, version string) images.Ref {
	return images.Ref{Name: a.Name, Version: version, Arch: b.arch}
}

// program is the recipe for a single program of a module.
func (b *builder) program(a images.Artifact, version string, m module) (output, error) {
	key, err := m.key(b.goVersion, b.arch)
	return output{
		ref: b.ref(a, version), key: key, origin: b.fromModule(m),
		make: func(ctx context.Context, path string) error {
			bin, err := b.binaries(ctx, m)
			if err != nil {
				return err
			}
			return copyFile(bin(a.Name), path)
		},
	}, err
}

// moduleFile is the recipe for a file of a module's source.
func (b *builder) moduleFile(a images.Artifact, version string, m module, source string) (output, error) {
	key, err := b.keys(m)
	return output{
		ref: b.ref(a, version), key: keyOf(key, source), origin: source + " of Go module set " + m.name,
		make: func(ctx context.Context, path string) error {
			files, err := b.moduleFiles(ctx, m)
			if err != nil {
				return err
			}
			content, err := fs.ReadFile(files, source)
			if err != nil {
				return err
			}
			return writeThrough(path, func(w io.Writer) error { _, err := w.Write(content); return err })
		},
	}, err
}

// archive is the recipe for an archive of a module's programs at the member paths of the
// catalogue; renamed maps a member to the name that `go build` gives it, where that
// differs.
func (b *builder) archive(a images.Artifact, version string, m module, renamed map[string]string) (output, error) {
	ref := b.ref(a, version)
	paths := a.MemberPaths(ref)
	key, err := m.key(b.goVersion, b.arch)
	return output{
		ref: ref, key: keyOf(key, strings.Join(paths, " ")), origin: b.fromModule(m),
		make: func(ctx context.Context, target string) error {
			bin, err := b.binaries(ctx, m)
			if err != nil {
				return err
			}
			members := make([]member, len(paths))
			for i, p := range paths {
				built := path.Base(p)
				if other, ok := renamed[built]; ok {
					built = other
				}
				members[i] = member{p, bin(built)}
			}
			return writeArchive(target, members)
		},
	}, err
}

// runc is the recipe for Debian's runc: it needs C and cannot be built with Go alone.
func (b *builder) runc(ctx context.Context, a images.Artifact) (output, error) {
	debs, err := b.debs.closure(ctx, "runc")
	if err != nil {
		return output{}, err
	}
	runc := find(debs, "runc")
	return output{
		ref: b.ref(a, debianVersion(runc)), key: runc.SHA256, origin: "Debian package runc " + runc.Version,
		make: func(ctx context.Context, target string) error {
			t := tree{}
			if err := t.unpackAll(ctx, b.debs, []deb{runc}); err != nil {
				return err
			}
			return writeFile(target, t["usr/sbin/runc"].content)
		},
	}, nil
}

func (b *builder) fromModule(m module) string {
	return "built from Go module set " + m.name + " with " + b.goVersion
}

// debianVersion converts a package version to a valid image tag.
func debianVersion(d deb) string {
	_, version, found := strings.Cut(d.Version, ":")
	if !found {
		version = d.Version
	}
	return strings.NewReplacer("+", ".", "~", ".").Replace(version)
}

func find(debs []deb, name string) deb {
	for _, d := range debs {
		if d.Name == name {
			return d
		}
	}
	return deb{}
}
