package build

import (
	"context"
	"errors"
	"fmt"
	"os"
	"syscall"
	"time"
)

// lockPoll is how often the directory's lock is tried again. The kernel has no
// lock that ends with a context.
const lockPoll = 100 * time.Millisecond

// exclusive waits until no other process builds into dir, and returns what ends
// the claim. The kernel ends it too when the process dies.
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
