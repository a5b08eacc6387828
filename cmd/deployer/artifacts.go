package main

import (
	"context"
	"fmt"
	"io"
	"sync"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"deployer/images"
	"deployer/images/build"
	"deployer/project"
)

func newArtifactsCommand(e env) *cobra.Command {
	return group(&cobra.Command{
		Use:     "artifacts",
		GroupID: "input",
		Short:   "Fetch, list, verify, lock and build binaries and images",
		Long: `Artifacts are the binaries, archives and container images that deployer installs on
hosts. artifacts.source of the inventory names their source: upstream, a mirror, or
a directory. They are verified against the publisher's checksums and pinned in
deployer.lock beside the inventory.`,
	}, newArtifactsFetch(e), newArtifactsList(e), newArtifactsVerify(e), newArtifactsLock(e), newArtifactsBuild(e))
}

// clusterCommand returns a command that works on the artifacts of the inventory's
// cluster.
func clusterCommand(use, short string, do func(context.Context, *project.Project) error) *cobra.Command {
	var path string
	var conformance bool
	cmd := &cobra.Command{
		Use:   use,
		Short: short,
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			p, err := loadArtifacts(path, conformance)
			if err != nil {
				return err
			}
			return do(cmd.Context(), p)
		},
	}
	inventoryFlag(cmd, &path)
	conformanceFlag(cmd, &conformance)
	return cmd
}

// conformanceFlag adds the flag that includes the images of conformance tests.
func conformanceFlag(cmd *cobra.Command, conformance *bool) {
	cmd.Flags().BoolVar(conformance, "conformance", false, "also the images of the conformance tests, for deployer verify --conformance")
}

// loadArtifacts reads an inventory and resolves its cluster, whose artifacts include the images of
// conformance tests when conformance is set.
func loadArtifacts(path string, conformance bool) (*project.Project, error) {
	options := projectOptions()
	options.Conformance = conformance
	return project.LoadCluster(path, options)
}

// fetchArtifacts fetches the artifacts of a project, and prints those that it does without.
func fetchArtifacts(ctx context.Context, e env, p *project.Project) error {
	if err := p.Fetch(ctx, artifactProgress(e.stderr)); err != nil {
		return err
	}
	if p.MissingImages != "" {
		fmt.Fprintf(e.stderr, "note: %s\n", p.MissingImages)
	}
	return nil
}

func newArtifactsFetch(e env) *cobra.Command {
	return clusterCommand("fetch", "Download, verify and pin the artifacts of the inventory's cluster", func(ctx context.Context, p *project.Project) error {
		return printPinned(e, p, "are in the cache and pinned in", fetchArtifacts(ctx, e, p))
	})
}

func newArtifactsVerify(e env) *cobra.Command {
	var repair bool
	cmd := clusterCommand("verify", "Verify the digests of the cached artifacts", func(ctx context.Context, p *project.Project) error {
		p.DropUnpinnedImages()
		check := p.Artifacts.Verify
		if repair {
			check = p.Artifacts.Repair
		}
		return printPinned(e, p, "match", check(ctx, p.Needed, artifactProgress(e.stderr)))
	})
	cmd.Flags().BoolVar(&repair, "repair", false, "remove damaged artifacts from the cache and download them and missing ones again")
	return cmd
}

func newArtifactsLock(e env) *cobra.Command {
	var update bool
	cmd := clusterCommand("lock", "Pin the artifacts that the source offers now", func(ctx context.Context, p *project.Project) error {
		p.DropUnpinnedImages()
		return printPinned(e, p, "are pinned in", p.Artifacts.Accept(ctx, p.Needed, update, artifactProgress(e.stderr)))
	})
	cmd.Flags().BoolVar(&update, "update", false, "replace pins of artifacts whose content has changed at the source")
	return cmd
}

// printPinned prints the number of artifacts with a predicate and the path of the lock
// file, unless err is set, which it returns.
func printPinned(e env, p *project.Project, predicate string, err error) error {
	if err == nil {
		_, err = fmt.Fprintf(e.stdout, "%d artifacts %s %s\n", len(p.Needed), predicate, p.Artifacts.Lock.Path())
	}
	return err
}

func newArtifactsList(e env) *cobra.Command {
	var output string
	cmd := clusterCommand("list", "List the artifacts of the inventory's cluster and their state in the cache", func(_ context.Context, p *project.Project) error {
		all, err := p.Artifacts.List(p.Needed)
		if err != nil {
			return err
		}
		if output == "json" {
			return printJSON(e.stdout, all)
		}
		return printArtifacts(e.stdout, all)
	})
	outputFlag(cmd, &output, "table", "json")
	return cmd
}

func printArtifacts(w io.Writer, all []images.Status) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "NAME\tVERSION\tARCH\tKIND\tSTATE\tSIZE\tSHA256")
	for _, s := range all {
		state, size, digest := "not pinned", "-", "-"
		if s.Pinned {
			state, size, digest = "pinned", fmt.Sprintf("%.1f MB", float64(s.Size)/1e6), s.SHA256[:12]
		}
		if s.Stored {
			state = "cached"
		}
		fmt.Fprintf(t, "%s\t%s\t%s\t%s\t%s\t%s\t%s\n", s.Name, s.Version, s.Arch, s.Kind, state, size, digest)
	}
	return t.Flush()
}

func newArtifactsBuild(e env) *cobra.Command {
	var options build.Options
	cmd := &cobra.Command{
		Use:   "build",
		Short: "Build all artifacts from Go modules and Debian packages",
		Long: `Build builds every binary and image from Go modules and Debian packages, in the
form that their publishers ship, for sites that cannot reach the publishers and
for the lab. Use the directory as artifacts.source of an inventory. An artifact is
built again only when its inputs have changed. Calico is built with --with calico, for
clusters whose network plugin it is, and the conformance tests of Kubernetes with
--with conformance, for deployer verify --conformance.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			var err error
			if options.Dir, err = artifactsDir(options.Dir); err != nil {
				return err
			}
			catalogue, err := images.Embedded()
			if err != nil {
				return err
			}
			options.Progress = buildProgress(e.stderr)
			return untilInterrupt(cmd.Context(), func(ctx context.Context) error {
				index, err := build.Build(ctx, catalogue, options)
				if err != nil {
					return err
				}
				_, err = fmt.Fprintf(e.stdout, "%d artifacts in %s\n", len(index.Entries), options.Dir)
				return err
			})
		},
	}
	cmd.Flags().StringVar(&options.Dir, "dir", "", "directory to build into (default: artifacts-src in deployer's cache)")
	cmd.Flags().StringSliceVar(&options.Kubernetes, "kubernetes", nil, "Kubernetes versions (default: the catalogue's default)")
	cmd.Flags().StringVar(&options.Arch, "arch", "", "architecture (default: this machine's)")
	cmd.Flags().StringSliceVar(&options.Sets, "with", nil, "`sets` of artifacts that only some clusters need: calico, conformance")
	return cmd
}

// artifactProgress returns a function that prints a line every two seconds for each
// artifact in work, and one when such an artifact is ready.
func artifactProgress(w io.Writer) func(images.Progress) {
	const interval = 2 * time.Second
	var mu sync.Mutex
	last := map[images.Ref]time.Time{}
	printed := map[images.Ref]bool{}
	return func(p images.Progress) {
		mu.Lock()
		defer mu.Unlock()
		since, seen := last[p.Ref]
		switch {
		case !seen:
			last[p.Ref] = time.Now()
		case p.Phase == images.Ready && printed[p.Ref]:
			fmt.Fprintf(w, "%-24s ready\n", p.Ref.Name)
		case p.Phase != images.Ready && time.Since(since) > interval:
			last[p.Ref], printed[p.Ref] = time.Now(), true
			fmt.Fprintf(w, "%-24s %s %s\n", p.Ref.Name, p.Phase, progressText(p.Done, p.Total))
		}
	}
}

func progressText(done, total int64) string {
	if total <= 0 {
		return fmt.Sprintf("%.1f MB", float64(done)/1e6)
	}
	return fmt.Sprintf("%.1f of %.1f MB", float64(done)/1e6, float64(total)/1e6)
}
