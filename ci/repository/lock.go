package repository

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// SupersededError says that a run ended without a change, because a newer one waits.
type SupersededError struct{ By string }

// Error implements error.
func (e *SupersededError) Error() string { return "superseded by the newer push " + e.By }

// pollLock is the time between two tries to get a lock. flock has no timeout.
const pollLock = 200 * time.Millisecond

// Kind is the kind of a run that asks for the lock.
type Kind string

// The kinds of runs. They do not supersede each other.
const (
	// Push deploys a revision. Of the pushes that wait, the newest deploys the changes of all.
	Push Kind = "push"
	// Rollback returns to an earlier revision. Each rollback is carried out, before
	// the pushes that wait: a person requested it for the revision that is deployed
	// now.
	Rollback Kind = "rollback"
	// Drift changes nothing. Drift does not wait for the pushes and rollbacks that wait, and they
	// wait for its end.
	Drift Kind = "drift"
)

// Lock waits for the lock of a directory, which one run holds at a time, and returns
// a function that releases it. The kernel releases the lock of a process that is
// killed, so no stale lock is left. Of the pushes that wait only the newest
// continues, after the rollbacks that wait: the other pushes return a
// *SupersededError. name describes the run; waiting is called once when another run
// has the lock.
func Lock(ctx context.Context, dir string, kind Kind, name string, waiting func(holder string)) (release func(), err error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	f, err := openLockFile(dir, "lock")
	if err != nil {
		return nil, err
	}
	rollbacks, err := openLockFile(dir, "rollbacks")
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	defer rollbacks.Close() // releases the shared lock of a rollback that waited
	may := func() (bool, error) { return true, nil }
	switch kind {
	case Rollback:
		err = unix.Flock(int(rollbacks.Fd()), unix.LOCK_SH)
	case Push:
		may, err = pushTicket(dir, name, rollbacks)
	}
	if err == nil {
		err = waitForLock(ctx, f, may, waiting)
	}
	if err == nil {
		err = writeHolder(f, string(kind)+" "+name)
	}
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return func() { _ = f.Close() }, nil // closing it releases the lock
}

func openLockFile(dir, name string) (*os.File, error) {
	return os.OpenFile(filepath.Join(dir, name), os.O_RDWR|os.O_CREATE, 0o600)
}

// pushTicket registers a push as the newest one and returns a function that reports whether
// it may run now. A push for which a newer one waits gets a *SupersededError; it may not
// run while a rollback waits, which holds a shared lock on the file rollbacks.
func pushTicket(dir, name string, rollbacks *os.File) (may func() (bool, error), err error) {
	ticket := fmt.Sprintf("%s\n%d %d", name, os.Getpid(), time.Now().UnixNano())
	newest := filepath.Join(dir, "waiting")
	if err := replaceFile(newest, ticket); err != nil {
		return nil, err
	}
	return func() (bool, error) {
		if by := other(newest, ticket); by != "" {
			return false, &SupersededError{by}
		}
		free, err := tryLock(rollbacks)
		if free {
			err = unix.Flock(int(rollbacks.Fd()), unix.LOCK_UN)
		}
		return free, err
	}, nil
}

// tryLock reports whether the process has got the exclusive lock of a file.
func tryLock(f *os.File) (bool, error) {
	err := unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB)
	switch {
	case errors.Is(err, unix.EWOULDBLOCK):
		return false, nil
	case err != nil:
		return false, fmt.Errorf("locking %s: %w", f.Name(), err)
	}
	return true, nil
}

// waitForLock returns when the process has the lock of f, and may allows it to run.
func waitForLock(ctx context.Context, f *os.File, may func() (bool, error), waiting func(holder string)) error {
	for reported := false; ; {
		locked, err := tryLock(f)
		if err != nil {
			return err
		}
		allowed, err := may()
		if err != nil || locked && allowed {
			return err
		}
		if locked {
			if err := unix.Flock(int(f.Fd()), unix.LOCK_UN); err != nil {
				return fmt.Errorf("unlocking %s: %w", f.Name(), err)
			}
		} else if !reported {
			reported = true
			holder, _ := os.ReadFile(f.Name())
			waiting(string(holder))
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(pollLock):
		}
	}
}

// other returns the name of the run that has come after the one of the ticket; empty for none.
func other(newest, ticket string) string {
	data, err := os.ReadFile(newest)
	if err != nil || string(data) == ticket {
		return ""
	}
	name, _, _ := strings.Cut(string(data), "\n")
	return name
}

func writeHolder(f *os.File, name string) error {
	if err := f.Truncate(0); err != nil {
		return err
	}
	_, err := f.WriteAt([]byte(name), 0)
	return err
}
