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
	"deployer/engine/wire"
)

// runLock is the lock that a run holds on its host, beside the one that a
// segment takes: a flock of STATE/run.lock, whose content names the holder. The
// file is never removed, as somebody could be about to lock it.
type runLock struct {
	path string

	mu     sync.Mutex
	file   *os.File // nil when it is not held
	holder lock.Holder
}

// take locks the host for a run. The other holder is returned when there is
// one; a second take of the same session succeeds.
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
		return nil, fmt.Errorf("opening the lock of runs: %w", err)
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

// readHolder reads who holds the lock. The holder writes its name after it has got
// the lock; when that takes long, or a newer deployer holds it, it stays nameless.
func readHolder(f *os.File) lock.Holder {
	for range 5 {
		var h holderFile
		data, err := io.ReadAll(io.NewSectionReader(f, 0, wire.MaxFrame))
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

// holderFile is the content of the file.
type holderFile struct {
	formatLine
	lock.Holder
}

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

// markDraining says in the file that the controller is gone. It is only a courtesy
// to those who wait, so a full disk does not matter.
func (l *runLock) markDraining() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.file != nil && !l.holder.Draining {
		l.holder.Draining = true
		_ = writeHolder(l.file, l.holder)
	}
}

func (l *runLock) release() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.file != nil {
		_ = l.file.Truncate(0)
		_ = l.file.Close()
		l.file = nil
	}
}

// lockFrame takes or gives back the lock, and says how that went.
func (s *server) lockFrame(f wire.Frame) error {
	var ask, answer wire.LockMessage
	if err := f.Decode(&ask); err != nil {
		return err
	}
	if len(ask.Holder) == 0 {
		s.runLock.release()
		return s.conn.SendJSON(wire.Locked, f.ID, answer)
	}
	var holder lock.Holder
	if err := json.Unmarshal(ask.Holder, &holder); err != nil {
		return &wire.ProtocolError{Reason: fmt.Sprintf("holder of the lock: %v", err)}
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
	return s.conn.SendJSON(wire.Locked, f.ID, answer)
}
