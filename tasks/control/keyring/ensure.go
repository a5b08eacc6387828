package keyring

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"deployer/cluster"
	"deployer/engine"
	"deployer/tasks/certificate"
	"deployer/tasks/control/actionctx"
)

// Ensure fills an empty keyring with the keys of the first master that has all of them;
// all masters of a cluster have the same keys. Ensure creates no keys. When no master has
// all keys, Ensure fails with an error that wraps ErrEmpty and names the reason for each
// master.
func Ensure(ctx context.Context, actx engine.ActionContext, ring *Keyring) error {
	if _, err := ring.Keys(); !errors.Is(err, ErrEmpty) {
		return err
	}
	c, err := actionctx.Cluster(actx)
	if err != nil {
		return err
	}
	var reasons []string
	for _, master := range c.Masters {
		keys, err := readKeys(ctx, actx, master, c)
		if err == nil {
			return ring.Fill(keys)
		}
		reasons = append(reasons, fmt.Sprintf("%s: %v", master, err))
		if ctx.Err() != nil {
			break
		}
	}
	return &unreadError{reasons}
}

// readKeys returns the keys of one master. readKeys fails when a key is missing.
func readKeys(ctx context.Context, actx engine.ActionContext, master string, c *cluster.Cluster) (*Keys, error) {
	res, err := actx.RunOn(ctx, master, "ca_read", &certificate.CARead{})
	switch {
	case err != nil:
		return nil, err
	case res.Failure != nil:
		return nil, res.Failure
	}
	external := External(c.ExternalAuthorities.Certificates)
	held, err := external.in(map[string]Files{master: FilesOf(res.Output)})
	if err != nil {
		return nil, err
	}
	keys, made, err := Complete(held[master], time.Now(), 0, external, c.OptionalAuthorities()...)
	if err == nil && len(made) > 0 {
		err = fmt.Errorf("the master has no %s; is the cluster installed?", strings.Join(made, ", "))
	}
	return keys, err
}

// unreadError reports that the keys could be read from no master. unreadError wraps ErrEmpty.
type unreadError struct{ reasons []string }

func (e *unreadError) Error() string {
	return "reading the cluster's keys from a master: " + strings.Join(e.reasons, "; ")
}
func (e *unreadError) Unwrap() error { return ErrEmpty }
