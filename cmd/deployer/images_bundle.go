package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"

	"github.com/google/renameio/v2"
	"github.com/spf13/cobra"

	"deployer/images"
	"deployer/project"
)

func newImagesBundle(e env) *cobra.Command {
	var path string
	var conformance bool
	cmd := &cobra.Command{
		Use:   "bundle FILE",
		Short: "Write all artifacts of the inventory's cluster into one file",
		Long: `Bundle writes every program and image of the inventory's cluster, with the lock file,
into one file for a site without internet: deployer install --bundle FILE, or
artifacts.source: FILE in the inventory. Missing artifacts are fetched first. To sign it,
use minisign: minisign -Sm FILE.`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			p, err := loadArtifacts(path, conformance)
			if err != nil {
				return err
			}
			if err := fetchArtifacts(cmd.Context(), e, p); err != nil {
				return err
			}
			if err := writeBundle(cmd.Context(), p, args[0]); err != nil {
				return err
			}
			digest, size, err := images.HashFile(args[0])
			if err != nil {
				return err
			}
			_, err = fmt.Fprintf(e.stdout, "%d artifacts in %s, %.1f MB, sha256 %s\n", len(p.Needed), args[0], float64(size)/1e6, digest)
			return err
		},
	}
	inventoryFlag(cmd, &path)
	conformanceFlag(cmd, &conformance)
	return cmd
}

// writeBundle writes the bundle under a temporary name first.
func writeBundle(ctx context.Context, p *project.Project, path string) error {
	file, err := renameio.NewPendingFile(path, renameio.WithPermissions(0o644))
	if err != nil {
		return fmt.Errorf("writing bundle: %w", err)
	}
	defer file.Cleanup()
	buffered := bufio.NewWriterSize(file, 1<<20)
	if err := errors.Join(p.Artifacts.WriteBundle(ctx, buffered, p.Needed), buffered.Flush()); err != nil {
		return err
	}
	return file.CloseAtomicallyReplace()
}
