package journal

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"time"

	"deployer/engine"
)

// Log writes the journal of one run. It is an engine.Sink.
type Log struct {
	mu    sync.Mutex
	file  *os.File
	err   error // the first; nothing is written after it
	dirty bool
	timer *time.Timer
	// waiting are lines that are not written yet, for writeDelay at most.
	waiting []byte
}

// Create begins the journal of a run, with its header on the disk. A run id
// that was used before is an error.
func Create(dir string, h Header) (*Log, error) {
	if h.Run == "" || strings.ContainsAny(h.Run, "/\\") || strings.HasPrefix(h.Run, ".") {
		return nil, fmt.Errorf("run id %q cannot be a file name", h.Run)
	}
	if err := ownDirectory(dir); err != nil {
		return nil, fmt.Errorf("making the directory of run logs: %w", err)
	}
	h.Format = Format
	f, err := os.OpenFile(Path(dir, h.Run), os.O_WRONLY|os.O_APPEND|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return nil, fmt.Errorf("making the log of the run: %w", err)
	}
	l := &Log{file: f}
	if err := errors.Join(flock(f, syscall.LOCK_EX), l.begin(dir, h)); err != nil {
		_ = f.Close()
		_ = os.Remove(f.Name()) // a log without a header would be complained about ever after
		return nil, fmt.Errorf("nothing was changed, the log of the run cannot be begun: %w", err)
	}
	_ = prune(dir, time.Now()) // what cannot be removed now is tried again by the next run
	return l, nil
}

// ownDirectory makes a directory that only its owner can look into, or takes the
// rights of others away from the one that is there.
func ownDirectory(dir string) error {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	info, err := os.Stat(dir)
	if err != nil || info.Mode().Perm()&0o077 == 0 {
		return err
	}
	return os.Chmod(dir, info.Mode().Perm()&^0o077)
}

func (l *Log) begin(dir string, h Header) error {
	text, err := plainJSON(line{Header: &h})
	if err == nil {
		_, err = l.file.Write(append(text, '\n'))
	}
	if err != nil {
		return err
	}
	if err := l.file.Sync(); err != nil {
		return err
	}
	// The name of the file must survive as well.
	d, err := os.Open(filepath.Clean(dir))
	if err != nil {
		return err
	}
	defer d.Close()
	return d.Sync()
}

// flock locks the whole file without waiting.
func flock(f *os.File, how int) error { return syscall.Flock(int(f.Fd()), how|syscall.LOCK_NB) }

// Emit appends an event. What cannot be written is reported by Close and Err:
// a full disk on the controller does not end a run on a thousand hosts.
func (l *Log) Emit(e engine.Event) {
	switch e.Type {
	case engine.Transfer, engine.StepText:
		return // progress that nobody reads afterwards
	}
	// Made before the lock is taken: all hosts of a run meet here.
	m := lineBuffers.Get().(*lineBuffer)
	defer lineBuffers.Put(m)
	text, err := m.encode(e)
	l.mu.Lock()
	defer l.mu.Unlock()
	switch {
	case l.file == nil || l.err != nil:
		return
	case err != nil:
		l.err = err
	case e.Type == engine.StepEnd && (e.Result == nil || e.Result.Failure == nil):
		l.later(text)
	default:
		l.write(text)
	}
	switch e.Type {
	case engine.RunEnd:
		l.sync()
	case engine.StepEnd, engine.HostParked, engine.Interrupted:
		l.syncSoon()
	}
}

// lineBuffer makes lines in memory that is used again.
type lineBuffer struct {
	text   []byte
	event  engine.Event
	result engine.Result
	change engine.Change
}

var lineBuffers = sync.Pool{New: func() any { return &lineBuffer{} }}

// encode is the line of an event, good until the next one. It is without what a
// step learned, and without what the event says of a result as well; see complete.
func (m *lineBuffer) encode(e engine.Event) (text []byte, err error) {
	m.event = e
	if r := e.Result; r != nil {
		m.result = *r
		m.event.Result = &m.result
		m.result.Output = nil
		if r.Host == e.Host && r.Step == e.Step && r.Name == e.Name {
			m.result.Host, m.result.Step, m.result.Name = "", "", ""
		}
		if r.Change != nil {
			m.change = *r.Change
			m.change.Output, m.change.Memo = nil, nil
			m.result.Change = &m.change
		}
	}
	m.text, err = appendLine(m.text[:0], &m.event)
	text = m.text
	m.event, m.result, m.change = engine.Event{}, engine.Result{}, engine.Change{} // it keeps nothing alive
	return text, err
}

// write writes what waits, and then text.
func (l *Log) write(text []byte) {
	if all := append(l.waiting, text...); l.err == nil && len(all) > 0 {
		_, l.err = l.file.Write(all)
	}
	l.waiting = l.waiting[:0]
}

// later keeps text for the next write, which is not far away.
func (l *Log) later(text []byte) {
	if len(l.waiting) == 0 {
		time.AfterFunc(writeDelay, func() {
			l.mu.Lock()
			defer l.mu.Unlock()
			if l.file != nil {
				l.write(nil)
			}
		})
	}
	l.waiting = append(l.waiting, text...)
}

// syncSoon makes sure that what is written gets to the disk within SyncDelay;
// many steps share one sync.
func (l *Log) syncSoon() {
	if l.dirty {
		return
	}
	l.dirty = true
	l.timer = time.AfterFunc(SyncDelay, func() {
		l.mu.Lock()
		file := l.file
		l.dirty = false
		if file != nil {
			l.write(nil)
		}
		l.mu.Unlock()
		if file == nil {
			return
		}
		// Beside the lock: nobody waits for the disk. Close syncs by itself.
		if err := file.Sync(); err != nil && !errors.Is(err, os.ErrClosed) {
			l.mu.Lock()
			defer l.mu.Unlock()
			l.keep(err)
		}
	})
}

func (l *Log) sync() {
	l.dirty = false
	l.write(nil)
	l.keep(l.file.Sync())
}

// keep notes the first error.
func (l *Log) keep(err error) {
	if l.err == nil {
		l.err = err
	}
}

// Err is the first thing that went wrong with writing.
func (l *Log) Err() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.err
}

// Close ends the log and gives up the lock.
func (l *Log) Close() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.file == nil {
		return l.err
	}
	if l.timer != nil {
		l.timer.Stop()
	}
	l.sync()
	l.keep(l.file.Close())
	l.file = nil
	if l.err != nil {
		return fmt.Errorf("the log of the run is not complete, deployer runs and revert know only of a part: %w", l.err)
	}
	return nil
}
