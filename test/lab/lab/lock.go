package lab

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"
)

// errHeld is the error when another process holds the lock.
var errHeld = errors.New("held by another process")

// lock is an flock(2) on a file of its own. The kernel releases it when the process
// ends, which distinguishes a lab in use from an abandoned one. Child processes do not
// inherit it.
type lock struct{ f *os.File }

// acquire takes the lock. With wait it waits for it; otherwise it returns errHeld when
// another process holds it.
func acquire(path string, wait bool) (*lock, error) {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return nil, fmt.Errorf("taking lock: %w", err)
	}
	how := unix.LOCK_EX
	if !wait {
		how |= unix.LOCK_NB
	}
	for {
		f, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o644)
		if err != nil {
			return nil, fmt.Errorf("taking lock: %w", err)
		}
		err = unix.Flock(int(f.Fd()), how)
		for errors.Is(err, unix.EINTR) {
			err = unix.Flock(int(f.Fd()), how)
		}
		if err != nil {
			_ = f.Close()
			if errors.Is(err, unix.EWOULDBLOCK) {
				return nil, errHeld
			}
			return nil, fmt.Errorf("taking lock %s: %w", path, err)
		}
		if same(f, path) {
			return &lock{f: f}, nil
		}
		_ = f.Close() // its last holder removed the file, so that the lock has no effect
	}
}

func same(f *os.File, path string) bool {
	mine, err := f.Stat()
	if err != nil {
		return false
	}
	there, err := os.Stat(path)
	return err == nil && os.SameFile(mine, there)
}

// release removes the file and releases the lock. A nil lock is valid.
func (l *lock) release() {
	if l == nil {
		return
	}
	_ = os.Remove(l.f.Name()) // a file that remains does no harm
	_ = l.f.Close()
}
