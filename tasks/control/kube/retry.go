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
)

// persist calls do until it succeeds, fails for good, or the client's patience
// is over; the last error is returned then. Every request in this package may
// be repeated: reads, server-side applies, and patches that name the version
// they were made for.
func (c *Client) persist(ctx context.Context, do func(context.Context) error) error {
	deadline := time.Now().Add(c.patience)
	for pause := 100 * time.Millisecond; ; pause = min(2*pause, 2*time.Second) {
		err := attempt(ctx, do)
		if err == nil || !IsTransient(err) || ctx.Err() != nil || !time.Now().Add(pause).Before(deadline) {
			return err
		}
		if c.another != nil {
			c.another()
		}
		if !wait(ctx, pause/2+rand.N(pause/2+1)) {
			return err
		}
	}
}

// requestTimeout bounds one try of one request; the API server itself gives up
// on most after 60 s, but a person waits for these.
const requestTimeout = 20 * time.Second

func attempt(ctx context.Context, do func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	return do(ctx)
}

// wait waits for d, and returns false when ctx ended before.
func wait(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-timer.C:
		return true
	}
}

// IsTransient tells errors that go away by themselves: a server that starts, stops
// or has lost its etcd leader, a connection that broke, and the namespaces that
// a new API server makes only after it serves.
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

// missingNamespace tells that an object was not found because its namespace
// is not there.
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
