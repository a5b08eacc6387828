package images

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"time"

	"github.com/google/go-containerregistry/pkg/v1/remote/transport"
)

// StatusError is an HTTP response without the requested file.
type StatusError struct {
	Address string
	Code    int
}

func (e *StatusError) Error() string {
	return fmt.Sprintf("%s: server answers %d %s", e.Address, e.Code, http.StatusText(e.Code))
}

// final marks an error that another attempt would repeat.
type final struct{ error }

func (f final) Unwrap() error { return f.error }

// attempts is the maximum number of requests for an artifact; the wait doubles from
// a second.
const attempts = 5

// transient reports whether another attempt may succeed: not after a wrong digest, a
// missing file or a full disk.
func transient(err error) bool {
	var status *StatusError
	var registryError *transport.Error
	var onDisk *fs.PathError
	var last final
	switch {
	case errors.Is(err, ErrMismatch), errors.As(err, &last), errors.As(err, &onDisk):
		return false
	case errors.As(err, &status):
		return temporary(status.Code)
	case errors.As(err, &registryError):
		return temporary(registryError.StatusCode)
	}
	return true
}

func temporary(code int) bool {
	return code >= 500 || code == http.StatusRequestTimeout || code == http.StatusTooManyRequests
}

// retry calls do until it succeeds, fails permanently, or attempts are used up.
// first is the wait after the first failure.
func retry(ctx context.Context, first time.Duration, do func() error) error {
	wait := first
	for attempt := 1; ; attempt++ {
		err := do()
		if err == nil || ctx.Err() != nil || !transient(err) {
			return err
		}
		if attempt == attempts {
			return fmt.Errorf("%w (tried %d times)", err, attempts)
		}
		select {
		case <-ctx.Done():
			return errors.Join(context.Cause(ctx), err)
		case <-time.After(wait):
		}
		wait *= 2
	}
}
