package kube

import (
	"context"
	"errors"
	"io"
	"math/rand/v2"
	"net"
	"strings"
	"syscall"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"deployer/tasks/poll"
)

// retry calls do until it succeeds, fails with an error that is not transient, or the
// client's retry timeout is over, and returns the last error. Every request of this
// package may be repeated: reads, server-side applies, and patches with a
// resourceVersion.
func (c *Client) retry(ctx context.Context, do func(context.Context) error) error {
	deadline := time.Now().Add(c.retryTimeout)
	for pause := 100 * time.Millisecond; ; pause = min(2*pause, 2*time.Second) {
		err := attempt(ctx, do)
		if err == nil || !IsTransient(err) || ctx.Err() != nil || !time.Now().Add(pause).Before(deadline) {
			return err
		}
		if c.switchServer != nil {
			c.switchServer()
		}
		if poll.Sleep(ctx, pause/2+rand.N(pause/2+1)) != nil {
			return err
		}
	}
}

// requestTimeout is the maximum time of one attempt of a request. The API server's own
// timeout, 60 s for most requests, is too long for a run.
const requestTimeout = 20 * time.Second

func attempt(ctx context.Context, do func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	return do(ctx)
}

// IsTransient reports whether a retry may succeed after err: the server starts, stops or
// has lost its etcd leader, the connection broke, or a namespace kube-* is missing,
// which a new API server creates after it has begun to serve.
func IsTransient(err error) bool {
	switch {
	case apierrors.IsServerTimeout(err), apierrors.IsTimeout(err), apierrors.IsTooManyRequests(err),
		apierrors.IsServiceUnavailable(err), apierrors.IsInternalError(err), apierrors.IsUnexpectedServerError(err):
		return true
	case apierrors.IsNotFound(err):
		return missingNamespace(err) && strings.Contains(err.Error(), `"kube-`)
	case apierrors.ReasonForError(err) != "":
		return false
	}
	var netErr net.Error
	return errors.As(err, &netErr) || errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) ||
		errors.Is(err, net.ErrClosed) || errors.Is(err, syscall.ECONNREFUSED) || errors.Is(err, syscall.ECONNRESET) ||
		strings.Contains(err.Error(), "http2: ")
}

// missingNamespace reports whether err is a "not found" for the namespace of an object.
func missingNamespace(err error) bool {
	var status apierrors.APIStatus
	if !errors.As(err, &status) {
		return false
	}
	details := status.Status().Details
	return apierrors.IsNotFound(err) && details != nil && details.Kind == "namespaces"
}

// ignoreNotFound turns "not found" into success.
func ignoreNotFound(err error) error {
	if apierrors.IsNotFound(err) {
		return nil
	}
	return err
}
