package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"deployer/images"
	"deployer/images/build"
	"deployer/images/imagefile"
	"deployer/images/imagetest"
)

func newImagesTest(e env) *cobra.Command {
	var flags imageFlags
	var again bool
	cmd := &cobra.Command{
		Use:   "test [IMAGE...]",
		Short: "Run the tests of image files in the built images",
		Long: `Test runs the commands that image files declare as tests, each in a container of its
own by runc: as the image's user, without network and without privileges. It needs root.
The results are recorded beside the image, and pushed with it. Images whose record is of
the same digest and tests are not tested again. Images for other architectures need
qemu-user-static.`,
		RunE: func(cmd *cobra.Command, names []string) error {
			built, err := flags.built(names)
			if err != nil {
				return err
			}
			var failures []error
			for _, b := range built {
				if err := testImage(cmd.Context(), e.stdout, b, again); err != nil {
					failures = append(failures, fmt.Errorf("testing %s: %w", b.entry.Ref, err))
				}
			}
			return errors.Join(failures...)
		},
	}
	flags.add(cmd)
	cmd.Flags().BoolVar(&again, "again", false, "run tests also where a record of them exists")
	return cmd
}

// testImage runs the tests of one image and records the results.
func testImage(ctx context.Context, w io.Writer, b builtImage, again bool) error {
	tests := b.file.Tests
	if len(tests) == 0 {
		return errors.New("the image file has no tests: without one the image is never promoted")
	}
	record, found, err := imagetest.Read(b.archive)
	if err != nil {
		return err
	}
	if found && !again && record.Current(b.entry.Manifest, tests) && record.Green(b.entry.Manifest) {
		fmt.Fprintf(w, "%s: tested before, %d tests passed\n", b.entry.Ref, len(tests))
		return nil
	}
	var passed, failed []string
	err = imagetest.Run(ctx, b.archive, tests, func(r imagetest.Result) {
		if r.Err != nil {
			failed = append(failed, r.Test.Name)
			fmt.Fprintf(w, "%s: %s: failed: %v\n", b.entry.Ref, r.Test.Name, r.Err)
			return
		}
		passed = append(passed, r.Test.Name)
		fmt.Fprintf(w, "%s: %s: ok\n", b.entry.Ref, r.Test.Name)
	})
	if err != nil {
		return err
	}
	record, err = imagetest.NewStatement(b.name(), b.entry.Manifest, tests, passed, failed, time.Now())
	if err != nil {
		return err
	}
	if err := record.Write(b.archive); err != nil {
		return err
	}
	if len(failed) > 0 {
		return fmt.Errorf("%d of %d tests failed: %q", len(failed), len(tests), failed)
	}
	return nil
}

// builtImage is an image in the directory of built artifacts, with its file.
type builtImage struct {
	file    imagefile.File
	entry   images.IndexEntry
	archive string
	// repository is the full name of the image without tag.
	repository string
}

func (b builtImage) name() string { return b.repository + ":" + b.entry.Version }

// built returns the images with these names that were built for the architectures, all
// without names, sorted by name, version and architecture. An image that is not built is
// an error only when it is named.
func (f *imageFlags) built(names []string) ([]builtImage, error) {
	set, err := imagefile.Open(f.images)
	if err != nil {
		return nil, err
	}
	catalogue, err := images.Embedded()
	if err != nil {
		return nil, err
	}
	dir, err := artifactsDir(f.dir)
	if err != nil {
		return nil, err
	}
	index, err := images.ReadIndex(dir)
	if err != nil {
		return nil, fmt.Errorf("%w; build the images with: deployer images build", err)
	}
	for _, name := range names {
		if _, err := set.File(name); err != nil {
			return nil, err
		}
		if !slices.ContainsFunc(index.Entries, func(e images.IndexEntry) bool { return e.Name == name }) {
			return nil, fmt.Errorf("image %s is not built: run deployer images build %[1]s", name)
		}
	}
	var all []builtImage
	for _, entry := range index.Entries {
		wanted := len(names) == 0 || slices.Contains(names, entry.Name)
		if entry.Kind != images.KindImage || !wanted || !set.Has(entry.Name) || !slices.Contains(f.architectures, entry.Arch) {
			continue
		}
		file, err := set.File(entry.Name)
		if err != nil {
			return nil, err
		}
		repository := file.Image
		if a, err := catalogue.Artifact(entry.Name); err == nil && repository == "" {
			repository = a.Repository()
		}
		all = append(all, builtImage{file, entry, build.ArchivePath(dir, entry), repository})
	}
	slices.SortFunc(all, func(a, b builtImage) int { return a.entry.Ref.Compare(b.entry.Ref) })
	return all, nil
}
