package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"github.com/spf13/cobra"

	"deployer/engine"
	"deployer/engine/view"
	"deployer/objectstore"
	"deployer/operations"
)

func newEtcdBackup(e env) *cobra.Command {
	var o runOptions
	var host, to string
	var keep, maxSize int
	var offline bool
	var target etcdTarget
	var keys keyRecipients
	cmd := &cobra.Command{
		Use:   "backup",
		Short: "Save a verified snapshot of etcd",
		Long: `Backup saves a snapshot of etcd on the host of one member, in
/var/lib/deployer/etcd-snapshots, verifies its hash, and removes the oldest ones beyond
--keep and --max-size, those that the members save by themselves (cluster.etcd.backup)
included. It takes a member that serves, and not the leader where there is another. Without
a majority it takes the member with the newest data. Exit code 0 means that the snapshot
is there, and its copy if one was asked for; other masters and members may be down.

A member that was started again without a majority serves no client. --offline is for that:
on each etcd host that can be reached, or that of --host, it stops the member, has a process
serve a copy of its data on the loopback address, saves a snapshot of that, and starts the
member again. The snapshot with the highest revision is the backup. It is refused while a
majority serves.

With --to the file is copied to a directory of this machine, too, or with --to
s3://BUCKET/PREFIX to an S3-compatible object store, by way of this machine: it is verified
here, written with its checksum, and counts when it was read back. Endpoint, region and
authorities come from cluster.etcd.backup.s3, or else from AWS_ENDPOINT_URL_S3, AWS_REGION
and AWS_CA_BUNDLE; credentials from AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or else
~/.aws/credentials, or else the inventory. A snapshot contains all Secrets of the cluster,
encrypted as etcd holds them.

The keys of the cluster are saved beside the snapshot, as NAME.keys.age: the certificate
authorities, the keys of service accounts and those that encrypt Secrets. The file is
encrypted with age to the recipients of --recipient and --recipients-file, by default those
of cluster.etcd.backup.recipients in the inventory. Snapshot and keys together restore the
cluster on other machines when all masters are lost; without recipients there are no keys,
and a master must be left.

With --events it saves the etcd cluster of events, in
/var/lib/deployer/etcd-events-snapshots, and with --calico that of Calico, in
/var/lib/deployer/etcd-calico-snapshots; both without keys.`,
		Example: `  deployer etcd backup --to /srv/backups
  deployer etcd backup --to s3://backups/prod
  deployer etcd backup --offline --to .
  deployer etcd backup --to /srv/backups --recipient age1ql3z7hjy54pw3hyww5ayyfg7zqgvc7w3j2elw8zmrj2kg5sfn9aqmcac8p`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			for flag, n := range map[string]int{"keep": keep, "max-size": maxSize} {
				if cmd.Flags().Changed(flag) && n < 1 {
					return usageError(fmt.Errorf("--%s is %d, want at least 1", flag, n))
				}
			}
			if offline && !target.own() {
				return usageError(errors.New("--offline saves the cluster's own etcd only: without a majority, deployer install starts the other etcd clusters again, or deployer etcd restore replaces their data"))
			}
			given, err := o.resolve()
			if err != nil {
				return err
			}
			given.Extra = map[string]any{"etcd_backup_host": host, "etcd_backup_to": "", "etcd_backup_keep": keep, "etcd_backup_max_size": maxSize, "etcd_name": target.name()}
			backup := newRunner(e).EtcdBackup
			if offline {
				backup = newRunner(e).EtcdBackupOffline
			}
			r, err := backup(given)
			if err != nil {
				return err
			}
			if _, err := target.of(r.Project.Cluster); err != nil {
				return err
			}
			var remote *storeCopy
			if objectstore.IsLocation(to) {
				if remote, err = newStoreCopy(r.Project.Cluster, to); err != nil {
					return err
				}
				defer remote.close() //nolint:errcheck // the next backup removes it
				to = remote.dir.Path
			}
			if to != "" {
				if to, err = filepath.Abs(to); err != nil {
					return err
				}
				if err := os.MkdirAll(to, 0o700); err != nil {
					return usageError(fmt.Errorf("--to: %w", err))
				}
			}
			given.Extra["etcd_backup_to"] = to
			recipients := []any{} // only Secrets are encrypted
			if target.own() {
				recipients, err = keys.list(cmd, r.Project.Cluster.Etcd.Backup.Recipients)
			}
			if err != nil {
				return err
			}
			given.Extra["etcd_backup_recipients"] = recipients
			if r, err = backup(given); err != nil {
				return err
			}
			if c := r.Project.Cluster; host != "" && !c.Nodes[host].IsEtcd {
				return usageError(fmt.Errorf("--host: %s is no etcd host of the cluster", host))
			}
			results := &operations.SnapshotCollector{}
			done, err := runWithDisplay(cmd.Context(), r, o.display(e.stdout, r.TargetHosts()).with(results), r.Do)
			if done == nil {
				return err
			}
			if o.output == "text" {
				view.Summary(e.stdout, r.Program.Name, done, "") // a new backup is better than a resume of this one
				printSnapshot(e.stdout, results.Found())
				if target.own() {
					keys.print(e.stdout, results.Found().Place, len(recipients) > 0)
				}
			}
			if err := firstError(err, backupOutcome(done, results.Found().Host())); err != nil || remote == nil {
				return err
			}
			return untilInterrupt(cmd.Context(), func(ctx context.Context) error { return remote.upload(ctx, e.stderr) })
		},
	}
	runFlags(cmd, &o)
	f := cmd.Flags()
	f.StringVar(&host, "host", "", "etcd `host` whose member is saved")
	f.StringVar(&to, "to", "", "`directory` of this machine for a copy, or s3://BUCKET/PREFIX")
	f.BoolVar(&offline, "offline", false, "copy the data of members that have no majority, and stop them meanwhile")
	f.IntVar(&keep, "keep", 0, "number of snapshots that stay on the host (default: cluster.etcd.backup.keep, 15)")
	f.IntVar(&maxSize, "max-size", 0, "size in `MiB` of all snapshots on the host, beyond which the oldest are removed (default: cluster.etcd.backup.max_size_mib, 10240)")
	keys.flags(cmd)
	target.flags(cmd)
	return cmd
}

// backupOutcome returns the exit code of a backup whose snapshot the host saved; the
// host is empty when none did. Failures of other hosts do not affect the snapshot: a
// backup is needed most when a host is down.
func backupOutcome(report *engine.Report, host string) error {
	lost := func(h engine.HostReport) bool { return h.Host == host }
	if host != "" && report.Outcome() == engine.OutcomePartial && !slices.ContainsFunc(report.Broken(), lost) {
		return nil
	}
	return operations.Outcome(report)
}
