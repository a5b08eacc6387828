package certificates

import (
	"context"
	"errors"
	"fmt"
	"time"

	"deployer/keeper/host"
)

// restoreTimeout is the maximum time in which the former certificates return.
const restoreTimeout = 10 * time.Minute

// Attempt changes certificates of a host and proves that all processes use them. When either fails, the
// former files return and are proved alike, unless a former certificate has expired and is worth nothing.
func Attempt(ctx context.Context, sys *host.System, expired bool, apply, prove func(context.Context) error) error {
	err := apply(ctx)
	if err == nil {
		err = prove(ctx)
	}
	if err == nil || !sys.Changed() {
		return err
	}
	if expired {
		return fmt.Errorf("%w; the new certificates stay, because the former ones have expired", err)
	}
	// The time of the renewal may be over.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), restoreTimeout)
	defer cancel()
	back := sys.PutBack()
	if back == nil {
		back = prove(ctx)
	}
	if back != nil {
		return errors.Join(err, fmt.Errorf("the former certificates did not return: %w", back))
	}
	return fmt.Errorf("%w; the former certificates are back", err)
}
