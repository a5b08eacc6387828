// Package tempdir makes temporary directories that do not outlive a killed process for long.
// The process that uses a directory locks it, and New removes directories with the same prefix
// that no process locks.
package tempdir

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"
)

// lockName is a file in each directory, locked while a process uses the directory.
const lockName = ".lock"

// graceTime is the age from which a directory without a lock file is abandoned: its process
// was killed before it made the file.
const graceTime = time.Minute

// Dir is a temporary directory of this process.
type Dir struct {
	Path string
	lock *os.File
}

// New makes a directory with mode 0700 whose name begins with prefix, below parent; the
// directory for temporary files when parent is empty. Then it removes the abandoned ones of
// this user with the prefix. The caller must call Remove.
func New(parent, prefix string) (*Dir, error) {
	if parent == "" {
		parent = os.TempDir()
	}
	path, err := os.MkdirTemp(parent, prefix)
	if err != nil {
		return nil, fmt.Errorf("making a temporary directory: %w", err)
	}
	d := &Dir{Path: path}
	if d.lock, err = os.OpenFile(filepath.Join(path, lockName), os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600); err == nil {
		err = syscall.Flock(int(d.lock.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("locking a temporary directory: %w", err), d.Remove())
	}
	sweep(parent, prefix, path)
	return d, nil
}

// Remove removes the directory with its content.
func (d *Dir) Remove() error {
	err := os.RemoveAll(d.Path)
	if d.lock != nil {
		err = errors.Join(err, d.lock.Close())
	}
	return err
}

// sweep removes abandoned directories. What cannot be removed is left for the next time.
func sweep(parent, prefix, own string) {
	entries, err := os.ReadDir(parent)
	if err != nil {
		return
	}
	for _, e := range entries {
		path := filepath.Join(parent, e.Name())
		if strings.HasPrefix(e.Name(), prefix) && path != own && abandoned(path) {
			_ = os.RemoveAll(path)
		}
	}
}

// abandoned reports whether path is a directory of this user, neither a link nor of another
// user, that no process locks.
func abandoned(path string) bool {
	info, err := os.Lstat(path)
	if err != nil || !info.IsDir() {
		return false
	}
	if owner, ok := info.Sys().(*syscall.Stat_t); !ok || int(owner.Uid) != os.Geteuid() {
		return false
	}
	lock, err := os.OpenFile(filepath.Join(path, lockName), os.O_RDWR|syscall.O_NOFOLLOW, 0)
	if errors.Is(err, os.ErrNotExist) {
		return time.Since(info.ModTime()) > graceTime
	}
	if err != nil {
		return false
	}
	defer func() { _ = lock.Close() }()
	return syscall.Flock(int(lock.Fd()), syscall.LOCK_EX|syscall.LOCK_NB) == nil
}
