package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"deployer/engine"
	"deployer/tasks/control/snapshot"
)

// readdressOptions are the flags of etcd readdress.
type readdressOptions struct {
	runOptions
	confirmation
}

func newEtcdReaddress(e env) *cobra.Command {
	var o readdressOptions
	cmd := &cobra.Command{
		Use:   "readdress",
		Short: "Make etcd a cluster again when the addresses of most members have changed",
		Long: `Readdress is for a cluster whose machines all have other addresses than before, or so
many of them that the members of etcd do not find each other. The addresses of the
inventory are the new ones. Where a majority still serves, deployer install changes the
addresses of members one after the other, and readdress refuses.

It saves a snapshot of the data of every member, and takes the one with the most recent
revision. Then the API servers end, the data of all members is put aside and kept, and
all start with the snapshot under the new addresses. Everything else is installed with
the new addresses. Pods keep running; the revision is raised by 1,000,000,000 above any
that the members have served, so that controllers and kubelets list all objects again.

All etcd hosts and masters must be reachable. It asks for the name of the cluster.
Continue an interrupted run with deployer resume, or with the same command as long as
the data has not been replaced.`,
		Example: `  deployer etcd readdress
  deployer etcd readdress --yes --cluster prod`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return readdressEtcd(cmd.Context(), e, o) },
	}
	runFlags(cmd, &o.runOptions)
	lockFlags(cmd, &o.runOptions)
	cmd.Flags().BoolVar(&o.Check, "check", false, "change nothing, show whether the members can be readdressed")
	o.flags(cmd)
	return cmd
}

func readdressEtcd(ctx context.Context, e env, o readdressOptions) error {
	given, err := o.resolve()
	if err != nil {
		return err
	}
	runner := newRunner(e)
	save, err := runner.EtcdReaddressSnapshot(given)
	if err != nil {
		return err
	}
	if err := o.confirm(e, save, o.Check, fmt.Sprintf("Give etcd in the cluster %s the addresses of the inventory?", save.Project.Cluster.Name)); err != nil {
		return err
	}
	if err := removeAbandonedSnapshots(); err != nil {
		return err
	}
	newest, lost := &newestSnapshot{}, &lostAddresses{}
	done, err := runWithDisplay(ctx, save, o.progressDisplay(e.stderr, save.Hosts).with(newest).with(lost), save.Do)
	if err != nil {
		return err
	}
	if err := readdressOutcome(done, newest); err != nil {
		return err
	}
	if o.Check {
		return lost.print(e.stdout, o.output)
	}
	fmt.Fprintf(e.stderr, "snapshot of etcd: %s:%s, revision %s, the most recent of %d\n", newest.host, newest.path, newest.revision, newest.number)
	id := time.Now().UTC().Format("20060102-150405")
	file, err := o.fetchSnapshot(ctx, e, save, newest.host, newest.path, id)
	if err != nil {
		return err
	}
	verified, err := snapshot.Verify(file)
	if err != nil {
		return &exitError{exitRefused, fmt.Errorf("nothing was changed: %w", err)}
	}
	given.Extra = map[string]any{"etcd_restore_id": id, "etcd_restore_snapshot": file, "etcd_restore_sha256": verified.SHA256}
	r, err := runner.EtcdReaddress(given)
	if err != nil {
		return err
	}
	r.ShareCredentials(save)
	if err := execute(ctx, e, r, o.runOptions); err != nil {
		return err
	}
	return removeFetchedSnapshot(r)
}

// readdressOutcome returns the error of a run that has saved snapshots, for which every
// member must have one.
func readdressOutcome(done *engine.Report, newest *newestSnapshot) error {
	broken := done.Broken()
	switch {
	case done.Interrupted:
		return exitSilently(exitInterrupted)
	case len(broken) > 0:
		h := broken[0]
		for _, other := range broken { // a host that failed by itself, not one that waited for it
			if strings.Contains(other.Failure.Message, "etcd") {
				h = other
				break
			}
		}
		return &exitError{exitRefused, fmt.Errorf("nothing was changed: %s: %s", h.Host, h.Failure.Message)}
	case !done.Check && newest.number == 0:
		return errors.New("no member has saved a snapshot: look at the steps of this run with deployer runs show")
	}
	return nil
}

// newestSnapshot keeps the output of the action etcd_newest_snapshot: the snapshot with the
// highest revision. newestSnapshot implements engine.Sink.
type newestSnapshot struct {
	mu         sync.Mutex
	number     int // of snapshots
	host, path string
	revision   string
}

// Emit keeps the output of the action.
func (n *newestSnapshot) Emit(e engine.Event) {
	out := e.ActionOutput()
	number, ok := out["saved"].(int)
	if !ok {
		return
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	n.number, n.revision = number, fmt.Sprint(out["revision"])
	n.host, _ = out["host"].(string)
	n.path, _ = out["path"].(string)
}

var _ engine.Sink = (*newestSnapshot)(nil)
