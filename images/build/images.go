package build

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	v1 "github.com/google/go-containerregistry/pkg/v1"

	"deployer/images"
	"deployer/images/imagefile"
)

// searchPath is the PATH of the publishers' images.
const searchPath = "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"

// imageInputs are the inputs of an image that are known before it is made.
type imageInputs struct {
	file imagefile.File
	resolved
	// modules has the module set of each of the file's binaries, in their order.
	modules []module
	// sources has the module sets that files are taken from, by name in the file.
	sources map[string]module
	// base is the output of the base; nil for scratch and bases of registries.
	base *output
}

// packages returns the packages of the image and of its bases in the graph.
func (in *imageInputs) packages() []deb {
	all := in.all()
	if in.base != nil {
		all = append(all, in.base.image.packages()...)
	}
	return all
}

// imageOutput returns the output of an image file for a Kubernetes version. bases has the
// outputs of the images before it, by name.
func (b *builder) imageOutput(ctx context.Context, f imagefile.File, kubernetes string, bases map[string]*output) (*output, error) {
	in := &imageInputs{file: f, sources: map[string]module{}}
	var below []deb
	if f.Base != imagefile.Scratch && !f.FromRegistry() {
		in.base = bases[f.Base]
		below = in.base.image.packages()
	}
	var err error
	if in.resolved, err = b.resolve(ctx, f, below); err != nil {
		return nil, err
	}
	for _, binary := range f.Binaries {
		m, err := b.moduleSet(f, binary.From, kubernetes)
		if err != nil {
			return nil, err
		}
		in.modules = append(in.modules, m)
	}
	for _, e := range f.Files {
		if e.From != "" {
			if in.sources[e.From], err = b.moduleSet(f, e.From, kubernetes); err != nil {
				return nil, err
			}
		}
	}
	a, err := b.imageArtifact(f, kubernetes)
	if err != nil {
		return nil, err
	}
	version, err := b.imageVersion(in, kubernetes)
	if err != nil {
		return nil, err
	}
	o := &output{artifact: a, ref: b.ref(a, version), origin: b.imageOrigin(in), image: in}
	if o.key, err = b.imageKey(in); err != nil {
		return nil, err
	}
	o.make = func(ctx context.Context, path string) error { return b.makeImage(ctx, o, path) }
	return o, nil
}

// imageArtifact returns the catalogue's artifact, or one like it for other images.
func (b *builder) imageArtifact(f imagefile.File, kubernetes string) (images.Artifact, error) {
	a, err := b.catalogue.Artifact(f.Name)
	conformance, _, isTest := b.catalogue.ConformanceArtifact(f.Name, kubernetes)
	switch {
	case isTest:
		return conformance, nil
	case err == nil && a.Kind != images.KindImage:
		return a, fmt.Errorf("image %s: the catalogue has a %s of that name: choose another name", f.Name, a.Kind)
	case f.Image != "":
		return images.Artifact{Name: f.Name, Kind: images.KindImage, Image: f.Image + ":{version}"}, nil
	case err != nil:
		return a, fmt.Errorf("image %s: the key image is missing: it is not in the catalogue", f.Name)
	}
	return a, nil
}

func (b *builder) imageVersion(in *imageInputs, kubernetes string) (string, error) {
	f := in.file
	_, conformance, isTest := b.catalogue.ConformanceArtifact(f.Name, kubernetes)
	switch {
	case isTest:
		return conformance, nil
	case f.VersionOfPackage != "":
		d := find(in.packages(), f.VersionOfPackage)
		if d.Name == "" {
			return "", fmt.Errorf("image %s: version_of_package: the image has no package %s", f.Name, f.VersionOfPackage)
		}
		return debianVersion(d), nil
	case f.VersionOfArtifact != "":
		return b.catalogue.Version(f.VersionOfArtifact, kubernetes)
	case f.Version != "":
		return f.Version, nil
	}
	version, err := b.catalogue.Version(f.Name, kubernetes)
	if err != nil {
		return "", fmt.Errorf("image %s: the key version is missing: %w", f.Name, err)
	}
	return version, nil
}

// imageOrigin describes where the content of the image comes from.
func (b *builder) imageOrigin(in *imageInputs) string {
	var parts []string
	for _, name := range slices.Sorted(maps.Keys(in.sources)) {
		parts = append(parts, "files of Go module set "+in.sources[name].name)
	}
	for _, m := range in.modules {
		if part := b.fromModule(m); m.name != "shim" && !slices.Contains(parts, part) {
			parts = append(parts, part)
		}
	}
	if debs := in.all(); len(debs) == 1 {
		parts = append(parts, "Debian package "+debNames(debs))
	} else if len(debs) > 1 {
		parts = append(parts, "Debian packages "+debNames(debs))
	}
	if in.base != nil {
		parts = append(parts, "image "+in.base.ref.Name)
	}
	if in.resolved.base != "" {
		parts = append(parts, "image "+in.resolved.base)
	}
	return strings.Join(parts, ", ")
}

// imageKey returns the digest of all inputs of the image. Tests are no inputs.
func (b *builder) imageKey(in *imageInputs) (string, error) {
	f := in.file
	f.Tests, f.Dir = nil, ""
	declared, err := json.Marshal(f)
	if err != nil {
		return "", err
	}
	key, err := b.keys(in.modules...)
	if err != nil {
		return "", err
	}
	inputs := []string{"image file", string(declared), key, debKey(in.all()), in.resolved.base}
	if in.base != nil {
		inputs = append(inputs, in.base.key)
	}
	for _, name := range slices.Sorted(maps.Keys(in.sources)) {
		key, err := b.keys(in.sources[name])
		if err != nil {
			return "", err
		}
		inputs = append(inputs, key)
	}
	for _, e := range f.Files {
		if e.Source != "" && e.From == "" {
			digest, _, err := images.HashFile(in.source(e))
			if err != nil {
				return "", fmt.Errorf("image %s: files: %s: %w", f.Name, e.Path, err)
			}
			inputs = append(inputs, digest)
		}
	}
	return keyOf(inputs...), nil
}

func (in *imageInputs) source(e imagefile.Entry) string {
	if filepath.IsAbs(e.Source) {
		return e.Source
	}
	return filepath.Join(in.file.Dir, e.Source)
}

// makeImage writes the image as an archive to path.
func (b *builder) makeImage(ctx context.Context, o *output, path string) error {
	in := o.image
	base, err := b.openBase(ctx, in)
	if err != nil {
		return err
	}
	t, err := b.imageTree(ctx, in)
	if err != nil {
		return err
	}
	if len(in.debs) > 0 {
		below, err := layerFiles(base)
		if err != nil {
			return err
		}
		if err := t.missingLibraries(below...); err != nil {
			return err
		}
	}
	layer := filepath.Join(filepath.Dir(path), ".layer-"+o.artifact.Name+"-"+o.ref.Arch+".tar")
	defer os.Remove(layer)
	if err := writeThrough(layer, t.write); err != nil {
		return err
	}
	config, err := imageConfig(in.file, base)
	if err != nil {
		return err
	}
	img, err := images.AssembleOn(base, layer, b.arch, config)
	if err != nil {
		return err
	}
	return writeThrough(path, func(w io.Writer) error { return images.WriteImage(w, o.artifact.ImageName(o.ref), img) })
}

// imageTree returns the files of the image's own layer.
func (b *builder) imageTree(ctx context.Context, in *imageInputs) (tree, error) {
	t := tree{}
	var err error
	switch fromScratch := in.file.Base == imagefile.Scratch; {
	case fromScratch && len(in.debs) > 0:
		t, err = debian(ctx, b.debs, in.debs)
	case fromScratch:
		t = minimal()
	default:
		err = t.unpackAll(ctx, b.debs, in.debs)
	}
	if err != nil {
		return nil, err
	}
	for i, binary := range in.file.Binaries {
		bin, err := b.binaries(ctx, in.modules[i])
		if err != nil {
			return nil, err
		}
		if err := t.program(inTree(binary.Path), bin(builtName(binary))); err != nil {
			return nil, err
		}
	}
	if in.authorities != nil {
		if err := t.withRoots(ctx, b.debs, []deb{*in.authorities}); err != nil {
			return nil, err
		}
	}
	for _, e := range in.file.Files {
		if err := b.entry(ctx, t, in, e); err != nil {
			return nil, fmt.Errorf("image %s: files: %s: %w", in.file.Name, e.Path, err)
		}
	}
	return t, nil
}

// builtName returns the name that `go build` gives a program of a module set: the
// publisher's program etcd is main.go of the server module.
func builtName(binary imagefile.Binary) string {
	if binary.From == "etcd" && binary.Program == "etcd" {
		return "server"
	}
	return binary.Program
}

// inTree returns a path of an image file as trees have it.
func inTree(name string) string { return merged(strings.TrimPrefix(name, "/")) }

// entry makes the files, the directory or the link of an entry.
func (b *builder) entry(ctx context.Context, t tree, in *imageInputs, e imagefile.Entry) error {
	mode, err := e.FileMode()
	if err != nil {
		return err
	}
	name := inTree(e.Path)
	if link := t.linkAbove(name); link != "" {
		return fmt.Errorf("/%s is a link to %s: write the path that it leads to, or make it a directory first", link, t[link].header.Linkname)
	}
	switch {
	case e.From != "":
		source, err := b.moduleFiles(ctx, in.sources[e.From])
		if err != nil {
			return err
		}
		return t.source(e, mode, source, e.Source)
	case e.Directory:
		t.dir(name, mode)
	case e.Link != "":
		t.link(name, e.Link)
	case e.MoveFrom != "":
		return t.move(inTree(e.MoveFrom), name)
	case e.Source != "":
		source := in.source(e)
		return t.source(e, mode, os.DirFS(filepath.Dir(source)), filepath.Base(source))
	default:
		t.file(name, mode, []byte(*e.Content))
	}
	return nil
}

// imageConfig returns the configuration of the image: that of the base, overridden by
// the image file.
func imageConfig(f imagefile.File, base v1.Image) (v1.Config, error) {
	file, err := base.ConfigFile()
	if err != nil {
		return v1.Config{}, err
	}
	config := file.DeepCopy().Config
	if len(config.Env) == 0 {
		config.Env = []string{searchPath}
	}
	for _, name := range slices.Sorted(maps.Keys(f.Env)) {
		config.Env = slices.DeleteFunc(config.Env, func(e string) bool { return strings.HasPrefix(e, name+"=") })
		config.Env = append(config.Env, name+"="+f.Env[name])
	}
	if len(f.Entrypoint) > 0 || len(f.Command) > 0 {
		config.Entrypoint, config.Cmd = f.Entrypoint, f.Command
	}
	if config.WorkingDir == "" {
		config.WorkingDir = "/"
	}
	for _, set := range []struct{ value, field *string }{
		{&f.User, &config.User}, {&f.WorkingDir, &config.WorkingDir}, {&f.StopSignal, &config.StopSignal},
	} {
		if *set.value != "" {
			*set.field = *set.value
		}
	}
	return config, nil
}

// moduleSet returns the module set that an image file names.
func (b *builder) moduleSet(f imagefile.File, name, kubernetes string) (module, error) {
	if _, ok := f.Modules[name]; ok {
		return ownModule(f, name)
	}
	if name == "pause" || name == "shim" {
		return module{name: name, own: true}, nil
	}
	sets := map[string]func(string) module{
		"etcd": etcdModule, "coredns": corednsModule, "containerd": containerdModule, "cni-plugins": cniModule,
	}
	switch name {
	case "kubernetes":
		return kubernetesModule(kubernetes), nil
	case "kubernetes-tests":
		return kubernetesTestsModule(kubernetes), nil
	case "calico":
		return calicoModule(), nil
	}
	set, ok := sets[name]
	if !ok {
		return module{}, errors.New("no Go module set " + name)
	}
	version, err := b.catalogue.Version(name, kubernetes)
	return set(version), err
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
