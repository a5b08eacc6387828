package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"deployer/objectstore"
	"deployer/tasks/control/etcd"
)

func newEtcdBackups(e env) *cobra.Command {
	var o runOptions
	var output string
	cmd := &cobra.Command{
		Use:   "backups [s3://BUCKET/PREFIX]",
		Short: "List the backups of etcd in an object store",
		Long: `Backups lists the snapshots of etcd in an S3-compatible object store, oldest first: when
each was written, its size, and whether the keys of the cluster are beside it. The default
is the bucket and prefix of cluster.etcd.backup.s3. Its settings and credentials are those
of deployer etcd backup.`,
		Example: `  deployer etcd backups s3://backups/prod`,
		Args:    cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			p, err := loadCluster(o.Inventory)
			if err != nil {
				return err
			}
			s := p.Cluster.Etcd.Backup.S3
			below := objectstore.Location{Bucket: s.Bucket, Key: s.Prefix}
			if len(args) > 0 {
				if below, err = objectstore.ParseLocation(args[0]); err != nil {
					return usageError(err)
				}
			} else if !s.Configured() {
				return usageError(errors.New("name the backups as s3://BUCKET/PREFIX, or set bucket of cluster.etcd.backup.s3 in the inventory"))
			}
			store, err := openObjectStore(p.Cluster)
			if err != nil {
				return err
			}
			var objects []objectstore.Object
			if err := transfer(cmd.Context(), func(ctx context.Context) (err error) {
				objects, err = store.List(ctx, below)
				return err
			}); err != nil {
				return err
			}
			list := storedBackups(objects)
			if output == "json" {
				return printJSON(e.stdout, map[string]any{"backups": list})
			}
			return printStoredBackups(e.stdout, list)
		},
	}
	inventoryFlag(cmd, &o.Inventory)
	outputFlag(cmd, &output, "text", "json")
	return cmd
}

// storedBackup is a snapshot in an object store.
type storedBackup struct {
	Snapshot string    `json:"snapshot"` // s3://..., for deployer etcd restore
	Written  time.Time `json:"written"`
	Size     int64     `json:"size"` // in bytes
	Keys     bool      `json:"keys"` // the keys of the cluster are beside it
}

// storedBackups returns the snapshots among objects, oldest first.
func storedBackups(objects []objectstore.Object) []storedBackup {
	keys := map[string]bool{}
	for _, o := range objects {
		if name, ok := strings.CutSuffix(o.Location.Key, ".keys.age"); ok {
			keys[name] = true
		}
	}
	out := []storedBackup{}
	for _, o := range objects {
		if name, ok := strings.CutSuffix(o.Location.Key, ".db"); ok {
			out = append(out, storedBackup{o.Location.String(), o.Written, o.Size, keys[name]})
		}
	}
	slices.SortStableFunc(out, func(a, b storedBackup) int { return a.Written.Compare(b.Written) })
	return out
}

func printStoredBackups(w io.Writer, list []storedBackup) error {
	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "SNAPSHOT\tWRITTEN\tSIZE\tKEYS")
	for _, b := range list {
		keys := "no"
		if b.Keys {
			keys = "yes"
		}
		fmt.Fprintf(table, "%s\t%s\t%s\t%s\n", b.Snapshot, b.Written.Format(time.DateTime), etcd.Mebibytes(b.Size), keys)
	}
	return table.Flush()
}
