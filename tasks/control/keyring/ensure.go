package keyring

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"deployer/engine"
	"deployer/tasks/certificate"
	"deployer/tasks/control/actionctx"
)

// Ensure fills an empty keyring with what one master of the cluster holds: all
// masters of a cluster hold the same. Nothing is made; where no master that
// answers holds everything, the error says so of each. The error is an ErrEmpty.
func Ensure(ctx context.Context, site engine.ActionContext, ring *Keyring) error {
	if _, err := ring.Keys(); !errors.Is(err, ErrEmpty) {
		return err
	}
	c, err := actionctx.Cluster(site)
	if err != nil {
		return err
	}
	var whys []string
	for _, master := range c.Masters {
		keys, err := held(ctx, site, master)
		if err == nil {
			return ring.Fill(keys)
		}
		whys = append(whys, fmt.Sprintf("%s: %v", master, err))
		if ctx.Err() != nil {
			break
		}
	}
	return &unreadError{whys}
}

// held are the keys of one master.
func held(ctx context.Context, site engine.ActionContext, master string) (*Keys, error) {
	res, err := site.RunOn(ctx, master, "ca_read", &certificate.CARead{})
	switch {
	case err != nil:
		return nil, err
	case res.Failure != nil:
		return nil, res.Failure
	}
	keys, made, err := Complete(filesOf(res.Output), time.Now())
	if err == nil && len(made) > 0 {
		err = fmt.Errorf("it holds no %s; is the cluster installed?", strings.Join(made, ", "))
	}
	return keys, err
}

// unreadError says that no master's keys could be read.
type unreadError struct{ whys []string }

func (e *unreadError) Error() string {
	return "no master gives the cluster's keys: " + strings.Join(e.whys, "; ")
}
func (e *unreadError) Unwrap() error { return ErrEmpty }
