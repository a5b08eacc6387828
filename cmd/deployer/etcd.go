package main

import (
	"github.com/spf13/cobra"
)

func newEtcdCommand(e env) *cobra.Command {
	return group(&cobra.Command{
		Use:     "etcd",
		GroupID: "cluster",
		Short:   "Show, back up, restore, defragment and repair etcd",
	}, newEtcdStatus(e), newEtcdBackup(e), newEtcdBackups(e), newEtcdRestore(e), newEtcdReaddress(e), newEtcdReplace(e), newEtcdDefrag(e))
}

func newEtcdDefrag(e env) *cobra.Command {
	var o runOptions
	var all bool
	var target etcdTarget
	cmd := &cobra.Command{
		Use:   "defrag",
		Short: "Give unused space of etcd's database files back to the disk",
		Long: `Defrag rewrites the database file of each member that is larger than 100 MiB and of
which at least 45 % holds no data: one member after the other, the leader last, 36 s
apart, and only while all members serve. A member does not answer while it works, about
10 s for each GiB of data.

When a database has reached its quota, etcd refuses writes (alarm NOSPACE). Then defrag
compacts the history, rewrites all files without pauses, and ends the alarm. It fails when
the objects themselves fill the database.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			given, err := o.resolve()
			if err != nil {
				return err
			}
			given.Extra = map[string]any{"etcd_defrag_all": all, "etcd_name": target.name()}
			r, err := newRunner(e).EtcdDefrag(given)
			if err != nil {
				return err
			}
			if _, err := target.of(r.Project.Cluster); err != nil {
				return err
			}
			return execute(cmd.Context(), e, r, o)
		},
	}
	runFlags(cmd, &o)
	lockFlags(cmd, &o)
	cmd.Flags().BoolVar(&o.Check, "check", false, "change nothing, show which members would be defragmented")
	target.flags(cmd)
	cmd.Flags().BoolVar(&all, "all", false, "include members with little unused space")
	return cmd
}

// mebibytes formats a size in bytes.
