package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"deployer/cluster"
	"deployer/inventory"
	"deployer/objectstore"
	"deployer/runs"
	"deployer/tasks/control/keybackup"
	"deployer/tasks/control/snapshot"
)

// restoreOptions are the flags of etcd restore.
type restoreOptions struct {
	runOptions
	confirmation
	etcdTarget
	snapshot   string
	keys       string // path of the encrypted keys, or s3://...: the hosts have no part of the cluster yet
	identity   string
	ignoreKeys bool

	unauthenticated bool
	keysStored      bool   // the keys come from an object store
	mac             string // content of the file with the snapshot's MAC; empty for none
	name            string // under which the snapshot must have been saved; empty for any
}

func newEtcdRestore(e env) *cobra.Command {
	var o restoreOptions
	cmd := &cobra.Command{
		Use:   "restore SNAPSHOT",
		Short: "Replace the data of etcd by a snapshot",
		Long: `Restore replaces the data of all members of etcd by a snapshot, which is a file of this
machine, HOST:PATH, or s3://BUCKET/NAME.db in an object store. Everything written since the snapshot is lost, so it asks for the
name of the cluster.

The snapshot is verified and prepared on all members first. Then the API servers end,
the members end, their data is put aside and kept, and all start with the restored data
as a new etcd cluster. The revision is raised by 1,000,000,000 above any that the
members have served and marked as compacted, so that controllers and kubelets list all
objects again. The same command recovers a cluster that has lost its quorum: back up the
member that is left, and take the hosts that do not come back out of the inventory.

When all masters are lost, --keys restores the cluster on hosts with nothing but an
operating system: the ones that the inventory names, with their addresses there. The
masters get the keys of the backup, etcd gets the data, and everything else is installed.
Certificates, kubeconfigs and tokens that exist stay valid, Secrets are readable, and
nodes that still run return. --identity names the key that opens the file.

Objects of an object store are read with the settings of cluster.etcd.backup.s3 or of the
environment, see deployer etcd backup, and compared with their SHA-256.

A snapshot is refused when the keys, those of the masters or of the file, do not decrypt
its Secrets, and unless NAME.mac beside it proves that a holder of these keys has saved it
under this name. Keys of an object store must have the fingerprint that the inventory names
as cluster.etcd.backup.fingerprint: whoever can write there can encrypt other keys to you.
--unauthenticated restores without these proofs, such as a backup of a version that wrote
none: whoever could write to the place of the backup may then have given themselves rights
in the cluster, or programs to run on its nodes.

With --calico it replaces the data of the etcd cluster of Calico: its policies, pools and the
addresses of pods. API servers continue to run. Pods that started after the snapshot was saved
have no network afterwards: delete them, so that they start again.

With --events it replaces the data of the etcd cluster of events. API servers end meanwhile, as for
the cluster's own etcd, because they hold events open. A snapshot of the one is refused for the other.

deployer resume continues an interrupted restore.`,
		Example: `  deployer etcd restore m1:/var/lib/deployer/etcd-snapshots/20261123-101502-1a2b.db
  deployer etcd restore /srv/backups/20261123-101502-1a2b.db --yes --cluster prod
  deployer etcd restore s3://backups/prod/20261123-101502-1a2b.db
  deployer etcd restore 20261123-101502-1a2b.db --keys 20261123-101502-1a2b.keys.age --identity age.txt`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			o.snapshot = args[0]
			return restoreEtcd(cmd.Context(), e, o)
		},
	}
	runFlags(cmd, &o.runOptions)
	lockFlags(cmd, &o.runOptions)
	cmd.Flags().BoolVar(&o.Check, "check", false, "change nothing, show what would change")
	cmd.Flags().StringVar(&o.keys, "keys", "", "`file` with the encrypted keys of the cluster, or s3://BUCKET/NAME.keys.age, to restore it on empty hosts")
	cmd.Flags().StringVar(&o.identity, "identity", "", "with --keys: `file` with the age identity or SSH key that decrypts it (default: as for encrypted variables)")
	cmd.Flags().BoolVar(&o.ignoreKeys, "ignore-keys", false, "accept keys that do not belong to the snapshot; Secrets may be unreadable")
	cmd.Flags().BoolVar(&o.unauthenticated, "unauthenticated", false, "accept a backup that nothing proves to be the cluster's; whoever could write to its place may have planted objects that take over the cluster")
	o.confirmation.flags(cmd)
	o.etcdTarget.flags(cmd)
	return cmd
}

func restoreEtcd(ctx context.Context, e env, o restoreOptions) error {
	given, err := o.resolve()
	if err != nil {
		return err
	}
	if !o.own() && o.keys != "" {
		return usageError(errors.New("--keys restores the cluster's own etcd on empty hosts; other etcd clusters start there without data, and are restored afterwards"))
	}
	if err := o.keyFiles(); err != nil {
		return err
	}
	runner := newRunner(e)
	id := time.Now().UTC().Format("20060102-150405")
	given.Extra = map[string]any{"etcd_restore_id": id, "etcd_restore_snapshot": "", "etcd_restore_ignore_keys": o.ignoreKeys || !o.own(), "etcd_name": o.etcdTarget.name()}
	// The run is created before any host is contacted, for its inventory and the name
	// of the cluster.
	r, err := runner.EtcdRestore(given)
	if err != nil {
		return err
	}
	if _, err := o.of(r.Project.Cluster); err != nil {
		return err
	}
	if err := o.loadMAC(ctx, e.stderr, r.Project.Cluster); err != nil {
		return err
	}
	question := fmt.Sprintf("Replace the data of %s in the cluster %s by %s?", o.etcdTarget.name(), r.Project.Cluster.Name, o.snapshot)
	if o.keys != "" {
		question = fmt.Sprintf("Install the cluster %s on %s with the keys and the data of the backup %s?", r.Project.Cluster.Name, inventory.CompressText(r.Project.Cluster.Masters), o.snapshot)
	}
	if err := o.confirm(e, r, o.Check, question); err != nil {
		return err
	}
	if err := removeAbandonedSnapshots(); err != nil {
		return err
	}
	if err := o.fetchFromStore(ctx, r.Project.Cluster, id); err != nil {
		return err
	}
	file, err := o.file(ctx, e, r, id)
	if err != nil {
		return err
	}
	// A damaged snapshot ends the command before any host is examined.
	verified, err := snapshot.Verify(file)
	if err != nil {
		return &exitError{exitRefused, fmt.Errorf("nothing was changed: %w", err)}
	}
	keysDigest, err := o.storedKeys()
	if err != nil {
		return err
	}
	if !o.unauthenticated { // the run verifies the MAC itself, with the keys of the cluster
		m, err := snapshot.Claim(o.mac, o.name, verified)
		if err == nil {
			err = m.RequireKeys(keysDigest)
		}
		if err != nil {
			return &exitError{exitRefused, fmt.Errorf("nothing was changed: %w", snapshot.Unproven(o.snapshot, err))}
		}
	}
	// A resumed run compares the digest: the file may be another one then.
	given.Extra["etcd_restore_snapshot"], given.Extra["etcd_restore_sha256"] = file, verified.SHA256
	given.Extra["etcd_restore_mac"], given.Extra["etcd_restore_name"], given.Extra["etcd_restore_unauthenticated"] = o.mac, o.name, o.unauthenticated
	restore := runner.EtcdRestore
	if o.keys != "" {
		restore = runner.EtcdRestoreHosts
		given.Extra["etcd_restore_keys"], given.Extra["etcd_restore_identity"], given.Extra["etcd_restore_keys_stored"] = o.keys, o.identity, o.keysStored
		given.Extra["etcd_restore_keys_sha256"] = keysDigest
		// The name is that of the content, so that the same command continues an
		// interrupted restore on empty hosts from any machine.
		given.Extra["etcd_restore_id"] = verified.SHA256[:16]
	}
	if r, err = restore(given); err != nil {
		return err
	}
	if err := execute(ctx, e, r, o.runOptions); err != nil {
		return err
	}
	return removeFetchedSnapshot(r)
}

// keyFiles makes the paths of the flags absolute, for a resume from another directory. keyFiles
// fails when a file does not exist; keys in an object store are left to fetchFromStore.
func (o *restoreOptions) keyFiles() error {
	if o.identity != "" && o.keys == "" {
		return usageError(errors.New("--identity opens the file of --keys: name that, too"))
	}
	for flag, path := range map[string]*string{"keys": &o.keys, "identity": &o.identity} {
		if *path == "" || flag == "keys" && objectstore.IsLocation(*path) {
			continue
		}
		if _, err := os.Stat(*path); err != nil {
			return usageError(fmt.Errorf("--%s: %w", flag, err))
		}
		abs, err := filepath.Abs(*path)
		if err != nil {
			return err
		}
		*path = abs
	}
	return nil
}

// storedKeys returns the SHA-256 of the file with the keys when it comes from an object store: they
// must be those that were saved with the snapshot. A file of this machine is the user's word.
func (o *restoreOptions) storedKeys() (string, error) {
	if !o.keysStored {
		return "", nil
	}
	return keybackup.Digest(o.keys)
}

// host returns the host of a snapshot HOST:PATH; empty for a file of this machine or a store.
func (o *restoreOptions) host(c *cluster.Cluster) string {
	host, path, remote := strings.Cut(o.snapshot, ":")
	if _, known := c.Nodes[host]; !remote || !known || !filepath.IsAbs(path) {
		return ""
	}
	return host
}

// localFile returns the absolute path of a snapshot of this machine.
func (o *restoreOptions) localFile() (string, error) {
	file, err := filepath.Abs(o.snapshot)
	if err != nil {
		return "", err
	}
	if info, err := os.Stat(file); err != nil {
		return "", usageError(fmt.Errorf("reading the snapshot: %w", err))
	} else if !info.Mode().IsRegular() {
		return "", usageError(fmt.Errorf("%s is not a file", o.snapshot))
	}
	return file, nil
}

// file returns the path of the snapshot on this machine. One of a host is fetched, with its MAC.
func (o *restoreOptions) file(ctx context.Context, e env, r *runs.Run, id string) (string, error) {
	host := o.host(r.Project.Cluster)
	if host == "" {
		return o.localFile()
	}
	path := strings.TrimPrefix(o.snapshot, host+":")
	file, err := o.fetchSnapshot(ctx, e, r, host, path, id)
	if err != nil {
		return "", err
	}
	if err := o.fetchMAC(ctx, e, r, host, path, id); err != nil {
		return "", err
	}
	o.printSaved(e.stderr)
	return file, nil
}
