package statedir

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"deployer/engine/lock"
	"deployer/engine/protocol"
)

// RunLock is the lock of the host that a run holds, beside the one that each segment
// takes: a flock of STATE/run.lock, whose content names the holder. The file is
// never removed, because another agent may be about to lock it.
type RunLock struct {
	path string

	mu     sync.Mutex
	file   *os.File // nil while the lock is not held
	holder lock.Holder
}

// RunLock returns the run lock of the directory, not yet taken.
func (s *Dir) RunLock() *RunLock {
	return &RunLock{path: filepath.Join(s.Path, "run.lock")}
}

// Take takes the lock for a run. Take returns the other holder when another run has
// the lock. When this session has the lock already, Take succeeds.
func (l *RunLock) Take(holder lock.Holder) (*lock.Holder, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.file != nil {
		return nil, nil
	}
	if err := MakePrivateDirectory(filepath.Dir(l.path)); err != nil {
		return nil, fmt.Errorf("making the agent's state directory: %w", err)
	}
	f, err := os.OpenFile(l.path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, fmt.Errorf("opening the run lock: %w", err)
	}
	err = errors.Join(RestrictToOwner(f), unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB))
	if errors.Is(err, unix.EWOULDBLOCK) {
		other := readHolder(f)
		return &other, f.Close()
	}
	if err == nil {
		err = writeHolder(f, holder)
	}
	if err != nil {
		_ = f.Close()
		return nil, fmt.Errorf("locking %s: %w", l.path, err)
	}
	l.file, l.holder = f, holder
	return nil, nil
}

// Current returns the holder of the lock; held is false when nobody has it. Current takes the
// lock, shared and for a moment, as only the kernel knows whether the holder lives.
func (l *RunLock) Current() (holder lock.Holder, held bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.file != nil {
		return l.holder, true
	}
	f, err := os.Open(l.path)
	if err != nil {
		return lock.Holder{}, false
	}
	defer func() { _ = f.Close() }()
	if err := unix.Flock(int(f.Fd()), unix.LOCK_SH|unix.LOCK_NB); !errors.Is(err, unix.EWOULDBLOCK) {
		return lock.Holder{}, false
	}
	return readHolder(f), true
}

// readHolder returns the holder that the file names. A holder writes its name after
// it has taken the lock; readHolder tries for 50 ms, and then returns an empty
// holder.
func readHolder(f *os.File) lock.Holder {
	for range 5 {
		var h holderFile
		data, err := io.ReadAll(io.NewSectionReader(f, 0, protocol.MaxFrame))
		if err == nil && json.Unmarshal(data, &h.FormatLine) == nil && h.Format > Format {
			return lock.Holder{By: "somebody with a newer deployer"}
		}
		if err == nil && json.Unmarshal(data, &h) == nil {
			return h.Holder
		}
		time.Sleep(10 * time.Millisecond)
	}
	return lock.Holder{}
}

// holderFile is the content of the lock file.
type holderFile struct {
	FormatLine
	lock.Holder
}

// writeHolder replaces the content of the lock file.
func writeHolder(f *os.File, h lock.Holder) error {
	data, err := json.Marshal(holderFile{FormatLine{Format}, h})
	if err != nil {
		return err
	}
	if err := f.Truncate(0); err != nil {
		return err
	}
	_, err = f.WriteAt(data, 0)
	return err
}

// MarkDraining marks the holder as draining: its controller is gone, and the lock is
// released when the step in flight ends. Other runs only wait longer if the mark
// cannot be written, so errors are ignored.
func (l *RunLock) MarkDraining() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.file != nil && !l.holder.Draining {
		l.holder.Draining = true
		_ = writeHolder(l.file, l.holder)
	}
}

// Release releases the lock; without one it does nothing.
func (l *RunLock) Release() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.file != nil {
		_ = l.file.Truncate(0)
		_ = l.file.Close()
		l.file = nil
	}
}
