package peer

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

// Manifest describes the zstd form of a blob, as the controller has it.
type Manifest struct {
	Digest string // hex SHA-256 of the plain content
	Size   int64  // bytes of the zstd form
	// Sums are the SHA-256 of its chunks, one after the other.
	Sums []byte
}

// Chunks returns the number of chunks.
func (m Manifest) Chunks() int { return int((m.Size + ChunkSize - 1) / ChunkSize) }

// Valid returns an error for a manifest that contradicts itself.
func (m Manifest) Valid() error {
	if m.Size <= 0 || m.Chunks() > MaxChunks || len(m.Sums) != m.Chunks()*sha256.Size {
		return fmt.Errorf("blob %.12s: %d bytes with %d bytes of chunk digests", m.Digest, m.Size, len(m.Sums))
	}
	return nil
}

// length returns the size of a chunk in bytes.
func (m Manifest) length(chunk int) int64 { return min(ChunkSize, m.Size-int64(chunk)*ChunkSize) }

// matches reports whether data is a chunk.
func (m Manifest) matches(chunk int, data []byte) bool {
	sum := sha256.Sum256(data)
	return int64(len(data)) == m.length(chunk) && string(sum[:]) == string(m.Sums[chunk*sha256.Size:(chunk+1)*sha256.Size])
}

// Directory has the spools of one agent. Other agents of the host cannot use it meanwhile.
type Directory struct {
	path string
	lock *os.File
}

// lockName is the file that the agent with the directory locks.
const lockName = "lock"

// maxAge is the age after which the spools of lost sessions are removed.
const maxAge = 24 * time.Hour

// OpenDirectory creates and locks the directory. It fails when another agent
// has it.
func OpenDirectory(path string) (*Directory, error) {
	if err := os.MkdirAll(path, 0o700); err != nil {
		return nil, err
	}
	if err := os.Chmod(path, 0o700); err != nil {
		return nil, err
	}
	lock, err := os.OpenFile(filepath.Join(path, lockName), os.O_RDWR|os.O_CREATE|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0o600)
	if err != nil {
		return nil, err
	}
	if err := unix.Flock(int(lock.Fd()), unix.LOCK_EX|unix.LOCK_NB); err != nil {
		_ = lock.Close()
		return nil, fmt.Errorf("another agent distributes blobs on this host: %w", err)
	}
	return &Directory{path: path, lock: lock}, nil
}

// Expire removes spools that sessions have left in a directory and that were not written to for a
// day, and returns when the next one expires; the zero time when there is none. Open ones can still
// be read.
func Expire(path string) time.Time { return sweep(path, maxAge) }

func sweep(path string, age time.Duration) (next time.Time) {
	entries, err := os.ReadDir(path)
	if err != nil {
		return next // usually there is no directory
	}
	for _, e := range entries {
		info, err := e.Info()
		if err != nil || e.Name() == lockName {
			continue
		}
		expires := info.ModTime().Add(age)
		if time.Now().Before(expires) {
			if next.IsZero() || expires.Before(next) {
				next = expires
			}
			continue
		}
		_ = os.Remove(filepath.Join(path, e.Name()))
	}
	return next
}

// Clear removes all spools. Open ones can still be read.
func (d *Directory) Clear() { sweep(d.path, 0) }

// Close unlocks the directory.
func (d *Directory) Close() { _ = d.lock.Close() }

// room returns an error when the disk has no room for a spool.
func (d *Directory) room(size int64) error {
	var s unix.Statfs_t
	if err := unix.Statfs(d.path, &s); err != nil {
		return err
	}
	if free := int64(s.Bavail) * s.Bsize; free < size+minFree {
		return fmt.Errorf("%d MiB are free in %s, and a copy of the blob for peers needs %d MiB", free>>20, d.path, (size+minFree)>>20)
	}
	return nil
}

// Spool is the file of one blob that arrives, with its verified chunks at the beginning. It is safe
// for concurrent use; one goroutine adds chunks.
type Spool struct {
	Manifest
	file *os.File

	mu   sync.Mutex
	have int           // verified chunks
	more chan struct{} // closed when have grows or err is set
	err  error         // why no further chunk comes
}

// Open opens the spool of a blob. Chunks of an earlier session are verified and kept.
func (d *Directory) Open(m Manifest) (*Spool, error) {
	if err := m.Valid(); err != nil {
		return nil, err
	}
	if err := d.room(m.Size); err != nil {
		return nil, err
	}
	file, err := os.OpenFile(filepath.Join(d.path, m.Digest), os.O_RDWR|os.O_CREATE|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0o600)
	if err != nil {
		return nil, err
	}
	s := &Spool{Manifest: m, file: file, more: make(chan struct{})}
	for s.have < m.Chunks() && s.stored(s.have) {
		s.have++
	}
	return s, nil
}

// stored reports whether the file has a chunk.
func (s *Spool) stored(chunk int) bool {
	data := make([]byte, s.length(chunk))
	_, err := s.file.ReadAt(data, int64(chunk)*ChunkSize)
	return err == nil && s.matches(chunk, data)
}

// errWrong says that a chunk does not have its digest.
var errWrong = errors.New("the chunk does not have the digest that the controller names")

// Add verifies and stores the next chunk.
func (s *Spool) Add(data []byte) error {
	next := s.Have()
	if next == s.Chunks() || !s.matches(next, data) {
		return errWrong
	}
	if _, err := s.file.WriteAt(data, int64(next)*ChunkSize); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.have++
	s.signal()
	return nil
}

// signal wakes all that wait; s.mu is held.
func (s *Spool) signal() {
	close(s.more)
	s.more = make(chan struct{})
}

// Have returns the number of verified chunks.
func (s *Spool) Have() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.have
}

// Complete reports whether all chunks are there.
func (s *Spool) Complete() bool { return s.Have() == s.Chunks() }

// fail ends the wait of readers for further chunks.
func (s *Spool) fail(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.err == nil && s.have < s.Chunks() {
		s.err = err
		s.signal()
	}
}

// wait waits until a chunk is there, its transfer has failed, or done is closed; then it returns
// false.
func (s *Spool) wait(chunk int, done <-chan struct{}) (bool, error) {
	for {
		s.mu.Lock()
		have, more, err := s.have, s.more, s.err
		s.mu.Unlock()
		switch {
		case chunk < have:
			return true, nil
		case err != nil:
			return false, err
		}
		select {
		case <-more:
		case <-done:
			return false, nil
		}
	}
}

// errStopped is the error of a read after its end was requested.
var errStopped = errors.New("the blob was closed")

// NewReader returns a reader of the zstd form, which waits for chunks until done is closed.
func (s *Spool) NewReader(done <-chan struct{}) io.Reader { return &spoolReader{spool: s, done: done} }

type spoolReader struct {
	spool *Spool
	done  <-chan struct{}
	at    int64
}

// Read implements io.Reader.
func (r *spoolReader) Read(p []byte) (int, error) {
	if r.at == r.spool.Size {
		return 0, io.EOF
	}
	chunk := int(r.at / ChunkSize)
	switch ready, err := r.spool.wait(chunk, r.done); {
	case err != nil:
		return 0, err
	case !ready:
		return 0, errStopped
	}
	end := int64(chunk)*ChunkSize + r.spool.length(chunk)
	n, err := r.spool.file.ReadAt(p[:min(int64(len(p)), end-r.at)], r.at)
	r.at += int64(n)
	return n, err
}
