package images

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"os"
	"syscall"
	"time"
)

// partial is content on its way into the store. It survives a killed process,
// and only one process writes to it at a time.
type partial struct {
	store *Store
	file  *os.File
	sum   hash.Hash
	size  int64
}

// lockPoll is how often a partial that another process writes to is tried
// again. The kernel has no lock that ends with a context.
const lockPoll = 50 * time.Millisecond

// begin opens the partial content for key and waits for whoever else has it.
// What is already there counts: see partial.size.
func (s *Store) begin(ctx context.Context, key string) (*partial, error) {
	path := s.partialPath(key)
	for {
		file, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o644)
		if err != nil {
			return nil, err
		}
		locked, err := lockFile(file, path)
		if err != nil {
			return nil, errors.Join(err, file.Close())
		}
		if locked {
			return s.continueWith(file)
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

// lockFile takes the lock, and tells whether the file is still the one at path:
// its last owner may have given it its final name meanwhile.
func lockFile(file *os.File, path string) (bool, error) {
	err := syscall.Flock(int(file.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
	if errors.Is(err, syscall.EWOULDBLOCK) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("locking %s: %w", path, err)
	}
	mine, err := file.Stat()
	if err != nil {
		return false, err
	}
	there, err := os.Stat(path)
	return err == nil && os.SameFile(mine, there), nil
}

func (s *Store) continueWith(file *os.File) (*partial, error) {
	p := &partial{store: s, file: file, sum: sha256.New()}
	var err error
	if p.size, err = io.Copy(p.sum, file); err != nil {
		return nil, errors.Join(err, file.Close())
	}
	return p, nil
}

// Write appends.
func (p *partial) Write(content []byte) (int, error) {
	n, err := p.file.Write(content)
	p.sum.Write(content[:n])
	p.size += int64(n)
	return n, err
}

// reset drops everything written so far.
func (p *partial) reset() error {
	p.sum.Reset()
	p.size = 0
	if err := p.file.Truncate(0); err != nil {
		return err
	}
	_, err := p.file.Seek(0, io.SeekStart)
	return err
}

func (p *partial) digest() string { return hex.EncodeToString(p.sum.Sum(nil)) }

// commit gives the content its name. The caller has compared the digest.
func (p *partial) commit() error {
	if err := p.file.Chmod(0o444); err != nil {
		return err
	}
	if err := p.file.Sync(); err != nil {
		return err
	}
	target := p.store.path(p.digest())
	if err := os.Rename(p.file.Name(), target); err != nil {
		return err
	}
	return p.store.stamp(target)
}

// discard removes the content; used when it turned out wrong.
func (p *partial) discard() error { return os.Remove(p.file.Name()) }

// close lets go of the lock. Content that was neither committed nor discarded
// stays for the next attempt.
func (p *partial) close() error { return p.file.Close() }
