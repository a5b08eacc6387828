package build

import (
	"context"
	"errors"
	"fmt"
	"os"
	"syscall"
	"time"
)

// lockPoll is the interval of attempts to lock the directory. The kernel has no lock
// that ends with a context.
const lockPoll = 100 * time.Millisecond

// exclusive waits until no other process builds into dir, and returns a function that
// releases the lock. The kernel releases it when the process dies.
func exclusive(ctx context.Context, dir string) (release func() error, err error) {
	file, err := os.Open(dir)
	if err != nil {
		return nil, err
	}
	for {
		err := syscall.Flock(int(file.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
		if err == nil {
			return file.Close, nil
		}
		if !errors.Is(err, syscall.EWOULDBLOCK) {
			return nil, errors.Join(fmt.Errorf("locking %s: %w", dir, err), file.Close())
		}
		select {
		case <-ctx.Done():
			return nil, errors.Join(fmt.Errorf("waiting for another build into %s: %w", dir, context.Cause(ctx)), file.Close())
		case <-time.After(lockPoll):
		}
	}
}
