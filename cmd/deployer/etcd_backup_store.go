package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"deployer/cluster"
	"deployer/engine/journal"
	"deployer/internal/tempdir"
	"deployer/objectstore"
	"deployer/tasks/control/snapshot"
)

// storeCopy is the copy of a backup in an object store. The files of the backup are in a
// private directory of this machine until they are there.
type storeCopy struct {
	store *objectstore.Store
	to    objectstore.Location
	dir   *tempdir.Dir
}

// newStoreCopy returns a copy to s3://BUCKET/PREFIX. The caller must call close.
// newStoreCopy sends no request to the store.
func newStoreCopy(c *cluster.Cluster, to string) (*storeCopy, error) {
	at, err := objectstore.ParseLocation(to)
	if err != nil {
		return nil, usageError(fmt.Errorf("--to: %w", err))
	}
	store, err := openObjectStore(c)
	if err != nil {
		return nil, err
	}
	state, err := journal.Dir()
	if err != nil {
		return nil, err
	}
	parent := filepath.Join(filepath.Dir(state), "etcd-backup")
	if err := os.MkdirAll(parent, 0o700); err != nil {
		return nil, err
	}
	dir, err := tempdir.New(parent, "copy-")
	return &storeCopy{store, at, dir}, err
}

func (s *storeCopy) close() error {
	if err := s.dir.Remove(); err != nil {
		return fmt.Errorf("removing the local copy of the backup: %w", err)
	}
	return nil
}

// upload copies the files of the backup to the store, the snapshot last: a snapshot in
// the store is therefore a whole backup. When the upload fails, the store has no
// file.
func (s *storeCopy) upload(ctx context.Context, out io.Writer) error {
	var files []string
	for _, pattern := range []string{"*.keys.age", "*" + snapshot.MACSuffix, "*.db"} {
		found, err := filepath.Glob(filepath.Join(s.dir.Path, pattern))
		if err != nil {
			return err
		}
		files = append(files, found...)
	}
	var written []objectstore.Location
	for _, file := range files {
		at := s.to.Join(filepath.Base(file))
		if err := s.store.Upload(ctx, file, at); err != nil {
			for _, other := range written {
				err = errors.Join(err, s.store.Remove(ctx, other))
			}
			return fmt.Errorf("the backup stays on its host and is not in the object store: %w", err)
		}
		written = append(written, at)
	}
	for _, at := range written {
		fmt.Fprintf(out, "copied to %s\n", at)
	}
	return nil
}
