package agent

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

// runLock is the lock of the host that a run holds, beside the one that each segment
// takes: a flock of STATE/run.lock, whose content names the holder. The file is
// never removed, because another agent may be about to lock it.
type runLock struct {
	path string

	mu     sync.Mutex
	file   *os.File // nil while the lock is not held
	holder lock.Holder
}

// take takes the lock for a run. It returns the other holder when another run has
// the lock. When this session has the lock already, take succeeds.
func (l *runLock) take(holder lock.Holder) (*lock.Holder, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.file != nil {
		return nil, nil
	}
	if err := makePrivateDirectory(filepath.Dir(l.path)); err != nil {
		return nil, fmt.Errorf("making the agent's state directory: %w", err)
	}
	f, err := os.OpenFile(l.path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, fmt.Errorf("opening the run lock: %w", err)
	}
	err = errors.Join(restrictToOwner(f), unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB))
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

// current returns the holder of the lock; held is false when nobody has it. It takes the
// lock, shared and for a moment, as only the kernel knows whether the holder lives.
func (l *runLock) current() (holder lock.Holder, held bool) {
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
		if err == nil && json.Unmarshal(data, &h.formatLine) == nil && h.Format > stateFormat {
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
	formatLine
	lock.Holder
}

// writeHolder replaces the content of the lock file.
func writeHolder(f *os.File, h lock.Holder) error {
	data, err := json.Marshal(holderFile{formatLine{stateFormat}, h})
	if err != nil {
		return err
	}
	if err := f.Truncate(0); err != nil {
		return err
	}
	_, err = f.WriteAt(data, 0)
	return err
}

// markDraining marks the holder as draining: its controller is gone, and the lock is
// released when the step in flight ends. Other runs only wait longer if the mark
// cannot be written, so errors are ignored.
func (l *runLock) markDraining() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.file != nil && !l.holder.Draining {
		l.holder.Draining = true
		_ = writeHolder(l.file, l.holder)
	}
}

// release releases the lock; without one it does nothing.
func (l *runLock) release() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.file != nil {
		_ = l.file.Truncate(0)
		_ = l.file.Close()
		l.file = nil
	}
}

// lockFrame takes the run lock for the holder in the message, or releases it when
// the message has none, and sends the outcome.
func (s *server) lockFrame(f protocol.Frame) error {
	var ask, answer protocol.LockMessage
	if err := f.Decode(&ask); err != nil {
		return err
	}
	if len(ask.Holder) == 0 {
		s.runLock.release()
		return s.conn.SendJSON(protocol.Locked, f.ID, answer)
	}
	var holder lock.Holder
	if err := json.Unmarshal(ask.Holder, &holder); err != nil {
		return &protocol.Error{Reason: fmt.Sprintf("holder of the lock: %v", err)}
	}
	other, err := s.runLock.take(holder)
	if err != nil {
		answer.Error = cut(err.Error(), 1<<10)
	}
	if other != nil {
		if answer.Holder, err = json.Marshal(other); err != nil {
			return err
		}
	}
	if answer.Error == "" && other == nil {
		answer.PendingHandlers, _ = s.state.pendingHandlers() // the hello has reported an error
	}
	return s.conn.SendJSON(protocol.Locked, f.ID, answer)
}
