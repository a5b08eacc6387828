package main

import (
	"context"
	"errors"
	"strings"

	"deployer/cluster"
	"deployer/objectstore"
	"deployer/tasks/control/snapshot"
)

// backupsInStore lists the backups of an object store, with their MACs. The empty place is the
// bucket and prefix of the inventory.
func backupsInStore(ctx context.Context, c *cluster.Cluster, place string) (*backupList, error) {
	s := c.Etcd.Backup.S3
	below := objectstore.Location{Bucket: s.Bucket, Key: s.Prefix}
	switch {
	case place != "":
		var err error
		if below, err = objectstore.ParseLocation(place); err != nil {
			return nil, usageError(err)
		}
	case !s.Configured():
		return nil, usageError(errors.New("name the backups as DIRECTORY or s3://BUCKET/PREFIX, or set bucket of cluster.etcd.backup.s3 in the inventory"))
	}
	store, err := openObjectStore(c)
	if err != nil {
		return nil, err
	}
	var list *backupList
	err = untilInterrupt(ctx, func(ctx context.Context) error {
		objects, err := store.List(ctx, below)
		if err != nil {
			return err
		}
		list = listOfStore(below, objects)
		return readMACs(list.Backups, func(b *storedBackup) ([]byte, error) {
			content, err := store.Read(ctx, objectstore.Location{Bucket: below.Bucket, Key: b.name + snapshot.MACSuffix}, snapshot.MaxMAC)
			if ctx.Err() != nil {
				return nil, endOfReading{err}
			}
			return content, err
		})
	})
	return list, err
}

// listOfStore returns the backups among objects. Their names are whole keys.
func listOfStore(below objectstore.Location, objects []objectstore.Object) *backupList {
	var files []backupFile
	for _, o := range objects {
		if !strings.HasSuffix(o.Location.Key, "/") { // a directory of a console
			files = append(files, backupFile{name: o.Location.Key, written: o.Written, size: o.Size})
		}
	}
	return newBackupList(below.String(), files, func(name string) string { return objectstore.Location{Bucket: below.Bucket, Key: name}.String() })
}
