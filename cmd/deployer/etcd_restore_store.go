package main

import (
	"context"
	"errors"
	"os"
	"path/filepath"

	"deployer/cluster"
	"deployer/objectstore"
)

// The maximum sizes in bytes of a backup's files: etcd recommends databases of 8 GiB at most.
const (
	maxStoredSnapshot = 16 << 30
	maxStoredKeys     = 16 << 20
)

// fetchFromStore reads the snapshot and the keys that the options name in an object store
// into the directory of fetched snapshots, and lets the options name those files. id begins
// their names. When it fails, it leaves no file.
func (o *restoreOptions) fetchFromStore(ctx context.Context, c *cluster.Cluster, id string) (err error) {
	dir, err := fetchedSnapshots()
	if err != nil {
		return err
	}
	var fetched []string
	defer func() {
		if err == nil {
			return
		}
		for _, file := range fetched {
			err = errors.Join(err, os.Remove(file))
		}
	}()
	for _, f := range []struct {
		path   *string
		suffix string
		limit  int64
	}{{&o.keys, ".keys.age", maxStoredKeys}, {&o.snapshot, ".db", maxStoredSnapshot}} {
		if !objectstore.IsLocation(*f.path) {
			continue
		}
		from, err := objectstore.ParseLocation(*f.path)
		if err != nil {
			return usageError(err)
		}
		store, err := openObjectStore(c)
		if err != nil {
			return err
		}
		o.keysStored = o.keysStored || f.path == &o.keys
		file := filepath.Join(dir, id+f.suffix)
		if err := os.MkdirAll(dir, 0o700); err != nil {
			return err
		}
		if err := untilInterrupt(ctx, func(ctx context.Context) error { return store.Download(ctx, from, file, f.limit) }); err != nil {
			return err
		}
		*f.path, fetched = file, append(fetched, file)
	}
	return nil
}
