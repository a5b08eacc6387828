package packages

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"deployer/engine"
)

// lockSigns are parts of the messages by which apt, dpkg, rpm, dnf and zypper report
// that another process holds their lock.
var lockSigns = []string{
	"Could not get lock", "Unable to lock", "Unable to acquire the dpkg frontend lock", "frontend lock was locked",
	"can't create transaction lock", "Failed to obtain the transaction lock", "System management is locked",
}

// withLockRetry runs a package manager, and again as long as another one holds its lock.
func withLockRetry(ctx context.Context, sys engine.System, limit time.Duration, run func() error) error {
	deadline := time.Now().Add(limit)
	tick := time.NewTicker(max(min(2*time.Second, limit/10), time.Millisecond))
	defer tick.Stop()
	for said := ""; ; {
		err := run()
		failure, ok := errors.AsType[*engine.Failure](err)
		if !ok || !says(failure, lockSigns...) {
			return err
		}
		if time.Now().After(deadline) {
			return &engine.Failure{Message: fmt.Sprintf("another package manager has been at work for %s: %s", limit, holder(failure)), Detail: failure.Detail}
		}
		if text := "waiting for another package manager: " + holder(failure); text != said {
			said = text
			sys.Progress(text)
		}
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-tick.C:
		}
	}
}

// holder returns the line of the message that names the holder of the lock.
func holder(failure *engine.Failure) string {
	for line := range strings.Lines(failure.Detail) {
		for _, sign := range lockSigns {
			if strings.Contains(line, sign) {
				return strings.TrimSpace(strings.TrimPrefix(line, "E: "))
			}
		}
	}
	return failure.Message
}
