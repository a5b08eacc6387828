package kube

import (
	"context"
	"fmt"
	"time"

	"deployer/engine"
	"deployer/tasks/control/actionctx"
	"deployer/tasks/control/keyring"
)

// Open returns the client that the whole run shares ([Access.Any]). When no task has
// loaded the cluster's keys, as in playbooks of users, Open reads the keys from a
// master first.
func Open(ctx context.Context, actx engine.ActionContext) (*Client, error) {
	if _, err := open(ctx, actx); err != nil {
		return nil, err
	}
	return anyClient(ctx, actx)
}

// OpenWith returns a client that authenticates with the keys of ring and uses the masters of
// the resolved cluster. It shares nothing with the clients of the run.
func OpenWith(ctx context.Context, actx engine.ActionContext, ring *keyring.Keyring) (*Client, error) {
	c, err := actionctx.Cluster(actx)
	if err != nil {
		return nil, err
	}
	access := NewAccess(ring)
	access.Use(actx.Dial, c.Masters, c.API.Port)
	if err := keyring.LoadIdentity(ctx, actx, ring, keyring.Cluster, time.Now()); err != nil {
		return nil, err
	}
	return access.Any()
}

// open returns the Access of the run and loads its keys when they are missing.
func open(ctx context.Context, actx engine.ActionContext) (*Access, error) {
	access, err := AccessOf(ctx, actx)
	if err != nil {
		return nil, err
	}
	access.loading.Lock()
	defer access.loading.Unlock()
	if err := keyring.Ensure(ctx, actx, access.ring); err != nil {
		return nil, fmt.Errorf("reaching the Kubernetes API: %w", err)
	}
	return access, keyring.LoadIdentity(ctx, actx, access.ring, keyring.Cluster, time.Now())
}

// anyClient returns the client of [Access.Any] and reads no keys: without keys it fails
// with keyring.ErrEmpty.
func anyClient(ctx context.Context, actx engine.ActionContext) (*Client, error) {
	access, err := AccessOf(ctx, actx)
	if err != nil {
		return nil, err
	}
	client, err := access.Any()
	if err != nil {
		return nil, fmt.Errorf("reaching the Kubernetes API: %w", err)
	}
	return client, nil
}
