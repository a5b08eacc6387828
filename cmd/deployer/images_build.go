package main

import (
	"context"
	"fmt"
	"io"
	"time"

	"github.com/spf13/cobra"

	"deployer/images"
	"deployer/images/build"
)

func newImagesBuild(e env) *cobra.Command {
	var flags imageFlags
	var kubernetes, changed []string
	cmd := &cobra.Command{
		Use:   "build [IMAGE...]",
		Short: "Build images and their bases",
		Long: `Build builds the images with these names and their bases, all without names,
several at once along the graph. Packages are taken from images.lock, and from apt's
lists when they are not in it; --changed takes those of a package from apt's lists
again, and builds every image with that package and all images based on it.`,
		RunE: func(cmd *cobra.Command, names []string) error {
			total := 0
			err := untilInterrupt(cmd.Context(), func(ctx context.Context) error {
				return flags.each(func(catalogue *images.Catalogue, options build.Options) error {
					options.Kubernetes, options.Names, options.Changed = kubernetes, names, changed
					options.Progress = buildProgress(e.stderr)
					if err := limitToChanged(&options); err != nil {
						return err
					}
					count := countBuilt(&options)
					if _, err := build.Build(ctx, catalogue, options); err != nil {
						return err
					}
					total += *count
					return nil
				})
			})
			if err == nil {
				_, err = fmt.Fprintf(e.stdout, "%d images built\n", total)
			}
			return err
		},
	}
	flags.add(cmd)
	cmd.Flags().StringSliceVar(&kubernetes, "kubernetes", nil, "Kubernetes versions (default: the catalogue's default)")
	cmd.Flags().StringSliceVar(&changed, "changed", nil, "Debian packages, by binary or source package, images or bases that have changed")
	return cmd
}

// limitToChanged limits a build to the images that options.Changed reaches.
func limitToChanged(options *build.Options) error {
	if len(options.Changed) == 0 {
		return nil
	}
	if len(options.Names) > 0 {
		return usageError(fmt.Errorf("names of images and --changed exclude each other: --changed finds the images"))
	}
	lock, err := build.ReadPackageLock(options.LockPath)
	if err != nil {
		return err
	}
	options.Names, err = build.Affected(options.Images, lock, options.Changed)
	return err
}

// countBuilt counts the images that a build makes.
func countBuilt(options *build.Options) *int {
	count, progress, list := new(int), options.Progress, options.Images
	options.Progress = func(ev build.Event) {
		if ev.State == build.Built && ev.Image != "" && list.Has(ev.Image) {
			*count++
		}
		progress(ev)
	}
	return count
}

// buildProgress prints a line for each event of a build; repeated events are printed
// every ten seconds.
func buildProgress(w io.Writer) func(build.Event) {
	return func(ev build.Event) {
		if ev.State == build.Running && int(ev.Elapsed.Seconds())%10 > 1 {
			return
		}
		fmt.Fprintf(w, "%2d/%d  %-8s %s  %s\n", ev.Number, ev.Total, ev.State, ev.What, ev.Elapsed.Round(100*time.Millisecond))
	}
}
