package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"strings"
	"time"

	"deployer/cluster"
	"deployer/objectstore"
	"deployer/runs"
	"deployer/tasks/control/etcd"
	"deployer/tasks/control/snapshot"
)

// loadMAC reads the MAC of a snapshot that is on this machine or in an object store, and prints when
// it was saved, before the user confirms the restore. The one of a host's snapshot comes with
// the snapshot.
func (o *restoreOptions) loadMAC(ctx context.Context, w io.Writer, c *cluster.Cluster) error {
	switch {
	case objectstore.IsLocation(o.snapshot):
		at, err := objectstore.ParseLocation(o.snapshot)
		if err != nil {
			return usageError(err)
		}
		store, err := openObjectStore(c)
		if err != nil {
			return err
		}
		if err := untilInterrupt(ctx, func(ctx context.Context) error { return o.readStoredMAC(ctx, store, at) }); err != nil {
			return err
		}
	case o.host(c) != "":
		return nil
	default:
		file, err := o.localFile()
		if err != nil {
			return err
		}
		if err := o.readMAC(strings.TrimSuffix(file, ".db") + snapshot.MACSuffix); err != nil {
			return err
		}
	}
	o.printSaved(w)
	return nil
}

// readMAC reads the file with the MAC of a snapshot on this machine. A user may have renamed both files,
// so the name is not compared; without the file there is no MAC.
func (o *restoreOptions) readMAC(file string) error {
	f, err := os.Open(file)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("reading the MAC of the snapshot: %w", err)
	}
	defer f.Close()
	content, err := io.ReadAll(io.LimitReader(f, snapshot.MaxMAC+1))
	if err != nil {
		return fmt.Errorf("reading the MAC of the snapshot: %w", err)
	}
	o.mac = string(content)
	return nil
}

// fetchMAC reads the MAC beside a snapshot of a host. A host without the file has a snapshot of
// an earlier version.
func (o *restoreOptions) fetchMAC(ctx context.Context, e env, r *runs.Run, host, file, id string) error {
	at := strings.TrimSuffix(file, ".db") + snapshot.MACSuffix
	copied, err := o.fetchFile(ctx, e, r, host, at, id+snapshot.MACSuffix, map[string]any{"max_mib": 1, "missing_ok": true})
	if err != nil {
		return err
	}
	o.name = strings.TrimSuffix(path.Base(file), ".db")
	if err := o.readMAC(copied); err != nil {
		return err
	}
	if err := os.Remove(copied); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("removing the copy of the MAC: %w", err)
	}
	return nil
}

// readStoredMAC reads the MAC beside a snapshot in an object store. A store that does not have it,
// or does not let it be read, has a snapshot without one.
func (o *restoreOptions) readStoredMAC(ctx context.Context, store *objectstore.Store, at objectstore.Location) error {
	o.name = strings.TrimSuffix(path.Base(at.Key), ".db")
	at.Key = strings.TrimSuffix(at.Key, ".db") + snapshot.MACSuffix
	content, err := store.Read(ctx, at, snapshot.MaxMAC)
	if err != nil && !objectstore.NotReadable(err) {
		return err
	}
	o.mac = string(content)
	return nil
}

// printSaved prints when the snapshot was saved, as far as its MAC says so: a store may present an
// old one as the newest. The run verifies it before it changes anything.
func (o *restoreOptions) printSaved(w io.Writer) {
	m, err := snapshot.ParseMAC(o.mac)
	switch {
	case o.mac == "":
		fmt.Fprintf(w, "%s has no MAC, so nothing says when and by whom it was saved\n", o.snapshot)
	case err != nil:
		fmt.Fprintf(w, "the MAC of %s cannot be read: %v\n", o.snapshot, err)
	default:
		fmt.Fprintf(w, "the snapshot was saved as %s on %s UTC, %s ago\n", m.Name, m.Saved.Format(time.DateTime), etcd.Span(time.Since(m.Saved)))
	}
}
