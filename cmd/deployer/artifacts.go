package main

import (
	"context"
	"fmt"
	"io"
	"path/filepath"
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
		Long: `Artifacts are the binaries, archives and container images that deployer puts on
hosts. They come from where the inventory says (artifacts.source: upstream, a
mirror, or a directory), are checked against the publisher's checksums, and are
pinned in deployer.lock beside the inventory. Nothing else is ever sent to a
host.`,
	}, newArtifactsFetch(e), newArtifactsList(e), newArtifactsVerify(e), newArtifactsLock(e), newArtifactsBuild(e))
}

// ofCluster is a verb that works on what the inventory's cluster needs.
func ofCluster(use, short string, do func(context.Context, *project.Project) error) *cobra.Command {
	var path string
	cmd := &cobra.Command{
		Use:   use,
		Short: short,
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			p, err := loadCluster(path)
			if err != nil {
				return err
			}
			return do(cmd.Context(), p)
		},
	}
	inventoryFlag(cmd, &path)
	return cmd
}

func newArtifactsFetch(e env) *cobra.Command {
	return ofCluster("fetch", "Bring what the inventory's cluster needs into the cache, checked, and pin it", func(ctx context.Context, p *project.Project) error {
		return sayPinned(e, p, "are in the cache and pinned in", p.Fetch(ctx, artifactProgress(e.stderr)))
	})
}

func newArtifactsVerify(e env) *cobra.Command {
	var repair bool
	cmd := ofCluster("verify", "Hash everything in the cache again", func(ctx context.Context, p *project.Project) error {
		check := p.Artifacts.Verify
		if repair {
			check = p.Artifacts.Repair
		}
		return sayPinned(e, p, "match", check(ctx, p.Needed, artifactProgress(e.stderr)))
	})
	cmd.Flags().BoolVar(&repair, "repair", false, "remove what is damaged from the cache, and fetch that and what is missing again")
	return cmd
}

func newArtifactsLock(e env) *cobra.Command {
	var update bool
	cmd := ofCluster("lock", "Pin what the source offers today", func(ctx context.Context, p *project.Project) error {
		return sayPinned(e, p, "are pinned in", p.Artifacts.Accept(ctx, p.Needed, update, artifactProgress(e.stderr)))
	})
	cmd.Flags().BoolVar(&update, "update", false, "replace pins whose content has changed at the source")
	return cmd
}

// sayPinned says what is true of all artifacts and the lock file, unless err.
func sayPinned(e env, p *project.Project, what string, err error) error {
	if err == nil {
		_, err = fmt.Fprintf(e.stdout, "%d artifacts %s %s\n", len(p.Needed), what, p.Artifacts.Lock.Path())
	}
	return err
}

func newArtifactsList(e env) *cobra.Command {
	var output string
	cmd := ofCluster("list", "List what the inventory's cluster needs, and what of it is here", func(_ context.Context, p *project.Project) error {
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
			state = "here"
		}
		fmt.Fprintf(t, "%s\t%s\t%s\t%s\t%s\t%s\t%s\n", s.Name, s.Version, s.Arch, s.Kind, state, size, digest)
	}
	return t.Flush()
}

func newArtifactsBuild(e env) *cobra.Command {
	var options build.Options
	cmd := &cobra.Command{
		Use:   "build",
		Short: "Build the whole set from Go modules and Debian packages",
		Long: `Build makes every binary and image from Go modules and Debian packages, in the
form that their publishers ship, for sites that cannot reach the publishers and
for the lab. The result is a directory that inventories name as
artifacts.source. What has been built before is built again only when its inputs
changed.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if options.Dir == "" {
				root, err := images.DefaultRoot()
				if err != nil {
					return err
				}
				options.Dir = filepath.Join(root, "artifacts-src")
			}
			catalogue, err := images.Embedded()
			if err != nil {
				return err
			}
			options.Progress = func(ev build.Event) {
				if ev.State == build.Running && int(ev.Elapsed.Seconds())%10 > 1 {
					return // one line every ten seconds is enough
				}
				fmt.Fprintf(e.stderr, "%2d/%d  %-8s %s  %s\n", ev.Number, ev.Total, ev.State, ev.What, ev.Elapsed.Round(100*time.Millisecond))
			}
			index, err := build.Build(cmd.Context(), catalogue, options)
			if err != nil {
				return err
			}
			_, err = fmt.Fprintf(e.stdout, "%d artifacts in %s\n", len(index.Entries), options.Dir)
			return err
		},
	}
	cmd.Flags().StringVar(&options.Dir, "dir", "", "directory to build into (default: artifacts-src in deployer's cache)")
	cmd.Flags().StringSliceVar(&options.Kubernetes, "kubernetes", nil, "Kubernetes versions (default: the catalogue's default)")
	cmd.Flags().StringVar(&options.Arch, "arch", "", "architecture (default: this machine's)")
	return cmd
}

// artifactProgress prints a line when an artifact starts a phase that takes
// more than two seconds, and when such a one is ready.
func artifactProgress(w io.Writer) func(images.Progress) {
	const patience = 2 * time.Second
	var mu sync.Mutex
	last := map[images.Ref]time.Time{}
	spoke := map[images.Ref]bool{}
	return func(p images.Progress) {
		mu.Lock()
		defer mu.Unlock()
		since, seen := last[p.Ref]
		switch {
		case !seen:
			last[p.Ref] = time.Now()
		case p.Phase == images.Ready && spoke[p.Ref]:
			fmt.Fprintf(w, "%-24s ready\n", p.Ref.Name)
		case p.Phase != images.Ready && time.Since(since) > patience:
			last[p.Ref], spoke[p.Ref] = time.Now(), true
			fmt.Fprintf(w, "%-24s %s %s\n", p.Ref.Name, p.Phase, share(p.Done, p.Total))
		}
	}
}

func share(done, total int64) string {
	if total <= 0 {
		return fmt.Sprintf("%.1f MB", float64(done)/1e6)
	}
	return fmt.Sprintf("%.1f of %.1f MB", float64(done)/1e6, float64(total)/1e6)
}
