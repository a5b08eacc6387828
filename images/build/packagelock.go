package build

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"
	"strings"

	"github.com/google/renameio/v2"
	"gopkg.in/yaml.v3"
)

// PackageLockName is the usual name of the file with the packages of images.
const PackageLockName = "images.lock"

const packageLockHeader = `# Written by deployer: the Debian packages and bases that images were built from.
# Change it with: deployer images build --changed PACKAGE
`

// packageLockFormat is the number of the format of the file.
const packageLockFormat = 1

// PackageLock pins the inputs of images that no other file pins: Debian packages with
// their dependencies, and the digests of bases in registries.
type PackageLock struct {
	path   string
	Format int           `yaml:"format"`
	Images []LockedImage `yaml:"images"`
}

// LockedImage has the pins of one image for one architecture.
type LockedImage struct {
	Name string `yaml:"name"`
	Arch string `yaml:"arch"`
	// Wanted lists the packages of the image file; a different list is resolved
	// again.
	Wanted   []string        `yaml:"wanted,flow,omitempty"`
	Packages []LockedPackage `yaml:"packages,omitempty"`
	// Base is a base of a registry with the manifest digest.
	Base string `yaml:"base,omitempty"`
}

// LockedPackage is one Debian package.
type LockedPackage struct {
	Name    string `yaml:"name"`
	Version string `yaml:"version"`
	// Source is the source package, where it has another name.
	Source string `yaml:"source,omitempty"`
	// Arch is the architecture of the package, which may be all.
	Arch   string `yaml:"arch"`
	SHA256 string `yaml:"sha256"`
}

// ReadPackageLock reads the lock at path; one that does not exist is empty.
func ReadPackageLock(path string) (*PackageLock, error) {
	lock := &PackageLock{path: path, Format: packageLockFormat}
	content, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return lock, nil
	}
	if err != nil {
		return nil, fmt.Errorf("reading lock of packages: %w", err)
	}
	// The number comes first: a newer format may have keys that this version does not know.
	head := struct {
		Format int `yaml:"format"`
	}{packageLockFormat}
	if err := yaml.Unmarshal(content, &head); err == nil && head.Format != packageLockFormat {
		return nil, fmt.Errorf("lock of packages %s has the format %d and this version of deployer knows %d: use the version that has written it",
			path, head.Format, packageLockFormat)
	}
	decoder := yaml.NewDecoder(bytes.NewReader(content))
	decoder.KnownFields(true)
	if err := decoder.Decode(lock); err != nil && !errors.Is(err, io.EOF) {
		return nil, fmt.Errorf("reading lock of packages %s: %w", path, err)
	}
	return lock, nil
}

// Find returns the pins of an image.
func (l *PackageLock) Find(name, arch string) (LockedImage, bool) {
	for _, i := range l.Images {
		if i.Name == name && i.Arch == arch {
			return i, true
		}
	}
	return LockedImage{}, false
}

// Put replaces the pins of an image.
func (l *PackageLock) Put(image LockedImage) {
	l.Images = slices.DeleteFunc(l.Images, func(i LockedImage) bool { return i.Name == image.Name && i.Arch == image.Arch })
	l.Images = append(l.Images, image)
}

// Write writes the lock in stable order, unless the file has that content.
func (l *PackageLock) Write() error {
	slices.SortFunc(l.Images, func(a, b LockedImage) int { return strings.Compare(a.Name+" "+a.Arch, b.Name+" "+b.Arch) })
	content, err := yaml.Marshal(l)
	if err != nil {
		return err
	}
	content = append([]byte(packageLockHeader), content...)
	if old, err := os.ReadFile(l.path); err == nil && bytes.Equal(old, content) {
		return nil
	}
	if err := renameio.WriteFile(l.path, content, 0o644); err != nil {
		return fmt.Errorf("writing lock of packages: %w", err)
	}
	return nil
}

// matches reports whether a package or its source package has the name.
func (p LockedPackage) matches(name string) bool { return p.Name == name || p.Source == name }

func locked(debs []deb) []LockedPackage {
	all := make([]LockedPackage, len(debs))
	for i, d := range debs {
		all[i] = LockedPackage{Name: d.Name, Version: d.Version, Source: d.Source, Arch: d.Arch, SHA256: d.SHA256}
	}
	return all
}

func unlocked(packages []LockedPackage) []deb {
	all := make([]deb, len(packages))
	for i, p := range packages {
		all[i] = deb{Name: p.Name, Version: p.Version, Source: p.Source, Arch: p.Arch, SHA256: p.SHA256}
	}
	return all
}
