package image

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"golang.org/x/sync/errgroup"

	"deployer/engine"
	"deployer/tasks/containerd"
	"deployer/tasks/receipt"
)

// parallel is the number of concurrent imports: while one image is fetched, another
// keeps the disk busy. More imports only compete for the disk.
const parallel = 2

// spool is the directory in which tarballs wait for their import.
const spool = "/var/lib/deployer/tmp"

// Apply imports missing images and removes old versions. Apply reports the failures of all
// imports together.
func (i *Import) Apply(ctx context.Context, sys engine.System, _ engine.Change) (engine.Output, error) {
	if err := os.MkdirAll(sys.Path(spool), 0o700); err != nil {
		return nil, err
	}
	sweep(sys)
	c := containerd.Connect(sys, i.Ctr, i.Socket)
	before := i.read(ctx, sys)
	missing := i.missing(sys, before)
	if err := i.backUp(sys, before); err != nil {
		return nil, err
	}
	failures := make([]error, len(missing))
	imported := make([]string, len(missing))
	var group errgroup.Group
	group.SetLimit(parallel)
	for n, t := range missing {
		group.Go(func() error {
			imported[n] = t.name()
			if err := t.bring(ctx, sys, c, i.labels()); err != nil {
				failures[n] = fmt.Errorf("importing %s: %w", t.name(), err)
			}
			return nil // a failure does not stop the imports of other images
		})
	}
	_ = group.Wait()
	if err := errors.Join(failures...); err != nil {
		return nil, err
	}
	now := i.read(ctx, sys)
	for _, t := range missing {
		if err := t.check(sys, now); err != nil {
			return nil, err
		}
	}
	old := i.leftovers(sys, now)
	if len(old) > 0 {
		if err := c.Forget(ctx, old...); err != nil {
			return nil, fmt.Errorf("removing older versions of imported images: %w", err)
		}
		for _, ref := range old {
			delete(now.pinned, ref) // its pin is gone with it
		}
	}
	if err := i.pins(sys, now).apply(ctx, c, i.Pin); err != nil {
		return nil, err
	}
	return engine.Output{"imported": imported, "removed": old}, nil
}

// sweep removes tarballs of killed runs, which are older than an hour.
func sweep(sys engine.System) {
	entries, err := os.ReadDir(sys.Path(spool))
	if err != nil {
		return // the next operation in the directory reports the error
	}
	for _, e := range entries {
		if info, err := e.Info(); err == nil && time.Since(info.ModTime()) > time.Hour {
			_ = os.Remove(filepath.Join(sys.Path(spool), e.Name()))
		}
	}
}

// bring fetches one tarball, imports it and writes the receipt. check verifies the names
// of all tarballs with one call.
func (t Tarball) bring(ctx context.Context, sys engine.System, c containerd.Client, labels []string) error {
	sys.Progress("fetching " + t.name())
	path := filepath.Join(spool, t.Blob+".tar")
	defer func() { _ = os.Remove(sys.Path(path)) }()
	refs, err := t.fetch(ctx, sys, path)
	if err != nil {
		return err
	}
	sys.Progress("importing " + t.name())
	if err := c.Load(ctx, sys.Path(path), labels...); err != nil {
		return err
	}
	return receipt.Write(sys, t.receiptPath(), record{Refs: refs})
}

// check returns an error when containerd lacks a name of an imported tarball.
func (t Tarball) check(sys engine.System, now state) error {
	var rec record
	if !receipt.Read(sys, t.receiptPath(), &rec) {
		return fmt.Errorf("the receipt of %s cannot be read", t.name())
	}
	if ref := now.lacks(rec.Refs); ref != "" {
		return fmt.Errorf("importing %s: ctr imported the tarball, but containerd lists no image %s", t.name(), ref)
	}
	return nil
}

func (t Tarball) fetch(ctx context.Context, sys engine.System, path string) (refs []string, err error) {
	blob, err := sys.Blob(ctx, t.Blob)
	if err != nil {
		return nil, err
	}
	defer blob.Close()
	// The file is not synced, because it is removed after the import.
	f, err := os.OpenFile(sys.Path(path), os.O_RDWR|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }()
	if _, err := io.Copy(f, blob); err != nil {
		return nil, err
	}
	if _, err := f.Seek(0, io.SeekStart); err != nil {
		return nil, err
	}
	return refsOf(f)
}
