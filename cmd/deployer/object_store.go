package main

import (
	"context"
	"errors"
	"os"
	"os/signal"
	"syscall"

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

// transfer calls do, whose context the first interrupt of the user cancels.
func transfer(ctx context.Context, do func(context.Context) error) error {
	ctx, stop := signal.NotifyContext(ctx, os.Interrupt, syscall.SIGTERM)
	defer stop()
	err := do(ctx)
	if errors.Is(err, context.Canceled) {
		return &exitError{exitInterrupted, err}
	}
	return err
}
