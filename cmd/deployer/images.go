package main

import (
	"fmt"
	"path/filepath"
	"runtime"
	"slices"

	"github.com/spf13/cobra"

	"deployer/images"
	"deployer/images/build"
	"deployer/images/imagefile"
)

func newImagesCommand(e env) *cobra.Command {
	return group(&cobra.Command{
		Use:     "images",
		GroupID: "input",
		Short:   "Build, test and publish container images along their graph",
		Long: `Image files declare images: the base of an image, its Debian packages, programs
and files, its entrypoint and its tests. The images of the project are part of deployer;
--images adds those of a directory. They are built without a container daemon, and the
same inputs give the same digest.`,
	}, newImagesGraph(e), newImagesBuild(e), newImagesOutdated(e), newImagesTest(e), newImagesPush(e), newImagesPromote(e), newImagesBundle(e))
}

// imageFlags are the flags of the verbs that read image files.
type imageFlags struct {
	dir, images, lock string
	architectures     []string
}

func (f *imageFlags) add(cmd *cobra.Command) {
	f.addSet(cmd)
	cmd.Flags().StringVar(&f.dir, "dir", "", "directory of the built images (default: artifacts-src in deployer's cache)")
	cmd.Flags().StringVar(&f.lock, "lock", "", "file with the packages of the images (default: images.lock beside the image files of --images, else in --dir)")
	cmd.Flags().StringSliceVar(&f.architectures, "arch", []string{runtime.GOARCH}, "`architectures` of the images: amd64, arm64")
}

func (f *imageFlags) addSet(cmd *cobra.Command) {
	cmd.Flags().StringVar(&f.images, "images", "", "directory with image files beside those of the project")
}

// options returns the options of a build for one architecture.
func (f *imageFlags) options(set *imagefile.Set, arch string) (build.Options, error) {
	if !slices.Contains([]string{"amd64", "arm64"}, arch) {
		return build.Options{}, usageError(fmt.Errorf("--arch %s: there are amd64 and arm64", arch))
	}
	dir, err := artifactsDir(f.dir)
	if err != nil {
		return build.Options{}, err
	}
	lock := f.lock
	if lock == "" && f.images != "" {
		lock = filepath.Join(f.images, build.PackageLockName)
	}
	if lock == "" {
		lock = filepath.Join(dir, build.PackageLockName)
	}
	return build.Options{Dir: dir, Images: set, OnlyImages: true, Arch: arch, LockPath: lock, Locked: true}, nil
}

// each calls do with the options for every architecture.
func (f *imageFlags) each(do func(*images.Catalogue, build.Options) error) error {
	catalogue, err := images.Embedded()
	if err != nil {
		return err
	}
	set, err := imagefile.Open(f.images)
	if err != nil {
		return err
	}
	for _, arch := range f.architectures {
		options, err := f.options(set, arch)
		if err != nil {
			return err
		}
		if err := do(catalogue, options); err != nil {
			return err
		}
	}
	return nil
}

// artifactsDir returns the directory that artifacts are built into.
func artifactsDir(given string) (string, error) {
	if given != "" {
		return given, nil
	}
	root, err := images.DefaultRoot()
	return filepath.Join(root, "artifacts-src"), err
}
