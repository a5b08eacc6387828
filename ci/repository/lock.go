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

// Lock waits for the lock of a directory, which one run holds at a time, and returns a
// function that releases it. The kernel releases the lock of a process that is killed, so
// no stale lock is left. Of the runs that wait only the newest goes on: the others return
// a *SupersededError. name says what the run is about; waiting is called once when the
// lock is taken.
func Lock(ctx context.Context, dir, name string, waiting func(holder string)) (release func(), err error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	ticket := fmt.Sprintf("%s\n%d %d", name, os.Getpid(), time.Now().UnixNano())
	newest := filepath.Join(dir, "waiting")
	if err := replaceFile(newest, ticket); err != nil {
		return nil, err
	}
	f, err := os.OpenFile(filepath.Join(dir, "lock"), os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, err
	}
	if err := waitForLock(ctx, f, newest, ticket, waiting); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	if err := writeHolder(f, name); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return func() { _ = f.Close() }, nil // closing it releases the lock
}

// waitForLock returns when the process has the lock of f, and the ticket is still the newest.
func waitForLock(ctx context.Context, f *os.File, newest, ticket string, waiting func(holder string)) error {
	for told := false; ; {
		err := unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB)
		if err != nil && !errors.Is(err, unix.EWOULDBLOCK) {
			return fmt.Errorf("locking %s: %w", f.Name(), err)
		}
		if by := other(newest, ticket); by != "" {
			return &SupersededError{by}
		}
		if err == nil {
			return nil
		}
		if !told {
			told = true
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

// replaceFile writes a file so that readers see the former or the new content.
func replaceFile(path, content string) error {
	f, err := os.CreateTemp(filepath.Dir(path), ".waiting-*")
	if err != nil {
		return err
	}
	_, err = f.WriteString(content)
	if err = errors.Join(err, f.Close()); err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err != nil {
		_ = os.Remove(f.Name())
	}
	return err
}
