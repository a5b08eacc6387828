package images

import (
	"context"
	"deployer/resumable"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"syscall"
	"time"
)

// partial is content on its way into the store. partial survives a killed process; one
// process writes to it at a time.
type partial struct {
	store *Store
	file  *os.File
	name  string // in the store
	*resumable.Partial
}

// lockPoll is the interval between attempts to lock a partial of another process.
// The kernel has no lock that ends with a context.
const lockPoll = 50 * time.Millisecond

// begin opens the partial for key and waits for a process that holds it. Existing
// content counts: see resumable.Partial.Size.
func (s *Store) begin(ctx context.Context, key string) (*partial, error) {
	name := partialName(key)
	for {
		file, err := s.openPartial(name)
		if err != nil {
			return nil, err
		}
		locked, err := s.lockPartial(file, name)
		if err != nil {
			return nil, errors.Join(err, file.Close())
		}
		if locked {
			return s.continueWith(file, name)
		}
		if err := file.Close(); err != nil {
			return nil, err
		}
		select {
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		case <-time.After(lockPoll):
		}
	}
}

// openPartial opens the partial of an earlier attempt, or creates one exclusively.
func (s *Store) openPartial(name string) (*os.File, error) {
	for {
		file, err := s.root.OpenFile(name, os.O_RDWR, 0)
		if !errors.Is(err, fs.ErrNotExist) {
			return file, err
		}
		file, err = s.root.OpenFile(name, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
		if !errors.Is(err, fs.ErrExist) {
			return file, err
		}
		if info, err := s.root.Lstat(name); err == nil && !info.Mode().IsRegular() {
			return nil, errForeignPartial // a link to nothing
		}
	}
}

// errForeignPartial is the error for a partial that another user may write to: its
// content could be exchanged after it was verified.
var errForeignPartial = errors.New("it is not a plain file of this user alone, with one name and no write permission for others; remove it")

// lockPartial locks an open file. lockPartial returns false when another process has the
// lock, or when the file no longer has its name, because its last owner has
// committed it.
func (s *Store) lockPartial(file *os.File, name string) (bool, error) {
	err := syscall.Flock(int(file.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
	if errors.Is(err, syscall.EWOULDBLOCK) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("locking it: %w", err)
	}
	mine, err := file.Stat()
	if err != nil {
		return false, err
	}
	there, err := s.root.Lstat(name)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return false, nil
	case err != nil:
		return false, err
	case !there.Mode().IsRegular():
		return false, errForeignPartial
	case !os.SameFile(mine, there):
		return false, nil
	}
	stat, ok := mine.Sys().(*syscall.Stat_t)
	if !ok || int(stat.Uid) != os.Geteuid() || stat.Nlink != 1 || mine.Mode().Perm()&0o022 != 0 {
		return false, errForeignPartial
	}
	return true, nil
}

func (s *Store) continueWith(file *os.File, name string) (*partial, error) {
	content, err := resumable.NewPartial(file)
	if err != nil {
		return nil, errors.Join(err, file.Close())
	}
	return &partial{store: s, file: file, name: name, Partial: content}, nil
}

// commit gives the content its final name. The caller has verified the digest.
func (p *partial) commit() error {
	if err := p.file.Chmod(0o444); err != nil {
		return err
	}
	if err := p.file.Sync(); err != nil {
		return err
	}
	info, err := p.file.Stat()
	if err != nil {
		return err
	}
	target := contentName(p.Digest())
	if err := p.store.root.Rename(p.name, target); err != nil {
		return err
	}
	return p.store.recordFingerprint(target, info)
}

// discard removes wrong content.
func (p *partial) discard() error { return p.store.root.Remove(p.name) }

// close releases the lock. Content that was neither committed nor discarded stays
// for the next attempt.
func (p *partial) close() error { return p.file.Close() }
