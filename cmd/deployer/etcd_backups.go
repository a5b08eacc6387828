package main

import (
	"time"

	"github.com/spf13/cobra"

	"deployer/objectstore"
)

func newEtcdBackups(e env) *cobra.Command {
	var o runOptions
	var output string
	var keys keyFile
	cmd := &cobra.Command{
		Use:   "backups [DIRECTORY | s3://BUCKET/PREFIX]",
		Short: "List the backups of etcd in a directory or an object store",
		Long: `Backups lists the snapshots of etcd in a directory of this machine or in an S3-compatible object
store, oldest first: when each was written, its size, whether the keys of the cluster are next
to it, and whether it is authentic: saved by a holder of the keys of the cluster, with this size
and, in a store, under this name. For an authentic one it shows when it was saved, which a store
cannot change: what it presents as the newest may be an old one. The age is the time since then,
or since it was written. A restore compares the content as well.

Files that are no part of a backup, such as keys without their snapshot, are named at the end.

The keys of the cluster are read from the masters; when none answers, from --keys, a copy of
the encrypted keys of a backup on this machine, with --identity. The default place is the
bucket and prefix of cluster.etcd.backup.s3. Its settings and credentials are those of
deployer etcd backup.`,
		Example: `  deployer etcd backups /srv/backups
  deployer etcd backups s3://backups/prod
  deployer etcd backups --keys 20261123-101502-1a2b.keys.age --identity age.txt`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := keys.valid(); err != nil {
				return err
			}
			p, err := loadCluster(o.Inventory)
			if err != nil {
				return err
			}
			place := ""
			if len(args) > 0 {
				place = args[0]
			}
			var list *backupList
			if place == "" || objectstore.IsLocation(place) {
				list, err = backupsInStore(cmd.Context(), p.Cluster, place)
			} else {
				list, err = backupsInDirectory(place)
			}
			if err != nil {
				return err
			}
			if keys.file != "" {
				err = keys.compare(list.Backups, p.Cluster.Name)
			} else {
				err = compareOnMasters(cmd.Context(), e, o, list.Backups)
			}
			if err != nil {
				return err
			}
			list.setAges(time.Now())
			if output == "json" {
				return printJSON(e.stdout, list)
			}
			return list.print(e.stdout)
		},
	}
	inventoryFlag(cmd, &o.Inventory)
	promptFlags(cmd, &o.Prompt)
	outputFlag(cmd, &output, "text", "json")
	keys.flags(cmd)
	return cmd
}
