package main

import (
	"os"

	"deployer/cluster"
	"deployer/objectstore"
)

// openObjectStore returns a client of the object store of a cluster's backups: that of the
// inventory, or else that of the environment.
func openObjectStore(c *cluster.Cluster) (*objectstore.Store, error) {
	var config objectstore.Config
	if s := c.Etcd.Backup.S3; s.Configured() {
		config = objectstore.Config{Endpoint: s.Endpoint, Region: s.Region, Addressing: s.Addressing, CA: s.CA, AccessKey: s.AccessKey, SecretKey: s.SecretKey}
	}
	config, err := config.WithEnvironment(os.Getenv)
	if err != nil {
		return nil, usageError(err)
	}
	store, err := objectstore.Open(config)
	if err != nil {
		return nil, usageError(err)
	}
	return store, nil
}
