package debug

import (
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"deployer/images"
)

// Image is the image of a session.
type Image struct {
	// Name with tag, under which hosts have it.
	Name string
	// Archives by architecture, in the words of Go; at least one.
	Archives map[string]Archive
}

// Archive is an image for one architecture.
type Archive struct {
	Path string
	// Digest of the manifest, sha256:....
	Digest string
}

// BuiltImage is the name of the project's image file.
const BuiltImage = "debug"

// OpenBuilt returns the image debug of a directory that deployer images build has written,
// for all architectures that were built.
func OpenBuilt(dir string) (Image, error) {
	advice := "build it with deployer images build debug --arch amd64,arm64, or name an archive with --image"
	index, err := images.ReadIndex(dir)
	if err != nil {
		return Image{}, fmt.Errorf("looking for the image debug: %w; %s", err, advice)
	}
	out := Image{Archives: map[string]Archive{}}
	for _, e := range index.Entries {
		if e.Name != BuiltImage || e.Kind != images.KindImage {
			continue
		}
		if err := out.add(filepath.Join(dir, filepath.FromSlash(e.File))); err != nil {
			return Image{}, err
		}
	}
	if len(out.Archives) == 0 {
		return Image{}, fmt.Errorf("there is no image debug in %s: %s", dir, advice)
	}
	return out, nil
}

// OpenArchives returns the image of archives, one for each architecture, that deployer images
// build has written.
func OpenArchives(paths []string) (Image, error) {
	out := Image{Archives: map[string]Archive{}}
	for _, path := range paths {
		path, err := filepath.Abs(path)
		if err != nil {
			return Image{}, err
		}
		if err := out.add(path); err != nil {
			return Image{}, err
		}
	}
	if len(out.Archives) == 0 {
		return Image{}, errors.New("no image is named")
	}
	return out, nil
}

// add adds the archive of one architecture.
func (i *Image) add(path string) error {
	img, err := images.OpenImage(path)
	if err != nil {
		return err
	}
	name, err := images.ArchiveName(path)
	if err != nil {
		return err
	}
	config, err := img.ConfigFile()
	if err != nil {
		return fmt.Errorf("image archive %s: %w", path, err)
	}
	digest, err := img.Digest()
	if err != nil {
		return fmt.Errorf("image archive %s: %w", path, err)
	}
	switch {
	case i.Name != "" && i.Name != name:
		return fmt.Errorf("%s has image %s, and another archive %s: name archives of one image", path, name, i.Name)
	case i.Archives[config.Architecture].Path != "":
		return fmt.Errorf("%s and %s are both for %s: name one", i.Archives[config.Architecture].Path, path, config.Architecture)
	case config.OS != "linux":
		return fmt.Errorf("%s is an image for %s, not for linux", path, config.OS)
	}
	i.Name, i.Archives[config.Architecture] = name, Archive{Path: path, Digest: digest.String()}
	return nil
}

// architectures returns the architectures of the image, sorted.
func (i *Image) architectures() []string { return slices.Sorted(maps.Keys(i.Archives)) }

// String names the image and its architectures.
func (i *Image) String() string { return i.Name + " (" + strings.Join(i.architectures(), ", ") + ")" }
