package journal

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"deployer/engine"
)

// Log writes the journal of one run. Log is an engine.Sink.
type Log struct {
	mu    sync.Mutex
	file  *os.File
	err   error // the first error; nothing is written after it
	dirty bool
	timer *time.Timer
	// waiting has the lines that are not written yet, for writeDelay at most.
	waiting []byte
}

// Create creates the journal of a run, with its header on the disk. A run id that
// was used before is an error. Create also removes journals beyond the limits.
func Create(dir string, h Header) (*Log, error) {
	if h.Run == "" || strings.ContainsAny(h.Run, "/\\") || strings.HasPrefix(h.Run, ".") {
		return nil, fmt.Errorf("creating the log of the run: run id %q is not a file name", h.Run)
	}
	if err := ownDirectory(dir); err != nil {
		return nil, fmt.Errorf("creating the directory of run logs: %w", err)
	}
	h.Format = Format
	f, err := os.OpenFile(Path(dir, h.Run), os.O_WRONLY|os.O_APPEND|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return nil, fmt.Errorf("creating the log of the run: %w", err)
	}
	l := &Log{file: f}
	if err := errors.Join(flock(f, syscall.LOCK_EX), l.begin(dir, h)); err != nil {
		_ = f.Close()
		_ = os.Remove(f.Name()) // a log without a header is an error in every list
		return nil, fmt.Errorf("writing the header of the run's log: %w; nothing was changed on any host", err)
	}
	_ = prune(dir, time.Now()) // the next run tries again
	return l, nil
}

// ownDirectory creates a directory with mode 0700, and removes the permissions of
// group and others from one that exists.
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
	// The directory entry must survive a power cut too.
	d, err := os.Open(filepath.Clean(dir))
	if err != nil {
		return err
	}
	defer d.Close()
	return d.Sync()
}

// flock locks the whole file and fails instead of waiting.
func flock(f *os.File, how int) error { return syscall.Flock(int(f.Fd()), how|syscall.LOCK_NB) }

// Emit appends an event. Write errors are reported by Close and Err: a full disk on
// the controller does not end a run on a thousand hosts.
func (l *Log) Emit(e engine.Event) {
	if Progress(e.Type) {
		return // journals contain no progress
	}
	// The event is encoded without the lock, which all hosts of a run share.
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
	case e.Type == engine.EventStepEnd && (e.Result == nil || e.Result.Failure == nil):
		l.later(text)
	default:
		l.write(text)
	}
	switch e.Type {
	case engine.EventRunEnd:
		l.sync()
	case engine.EventStepEnd, engine.EventHostParked, engine.EventInterrupted:
		l.syncSoon()
	}
}

// lineBuffer encodes lines in reusable memory.
type lineBuffer struct {
	text    []byte
	event   engine.Event
	result  engine.Result
	change  engine.Change
	effects []engine.Effect
	// brief leaves out what copies of the journal do not have; see AppendCopy.
	brief bool
}

var lineBuffers = sync.Pool{New: func() any { return &lineBuffer{} }}

// encode returns the line of an event, valid until the next call. The line leaves
// out the output of the step, and the fields of the result that equal those of the
// event; see complete.
func (m *lineBuffer) encode(e engine.Event) (text []byte, err error) {
	m.event = e
	if m.brief {
		m.event.Time = e.Time.UTC().Truncate(time.Millisecond)
	}
	if r := e.Result; r != nil {
		m.result = *r
		m.event.Result = &m.result
		if m.brief {
			m.result.Started, m.result.Elapsed = time.Time{}, r.Elapsed.Truncate(time.Microsecond)
		}
		m.result.Output = nil
		if r.Host == e.Host && r.Step == e.Step && r.Name == e.Name {
			m.result.Host, m.result.Step, m.result.Name = "", "", ""
		}
		if r.Change != nil {
			m.change = *r.Change
			m.change.Output, m.change.CheckState = nil, nil
			m.result.Change = &m.change
			m.removeDiffs()
		}
	}
	m.text, err = appendLine(m.text[:0], &m.event)
	text = m.text
	m.event, m.result, m.change = engine.Event{}, engine.Result{}, engine.Change{} // releases the references
	clear(m.effects)
	return text, err
}

// removeDiffs replaces the effects of the change by copies without diffs.
func (m *lineBuffer) removeDiffs() {
	if !m.brief || !slices.ContainsFunc(m.change.Effects, func(e engine.Effect) bool { return e.Diff != "" }) {
		return
	}
	m.effects = append(m.effects[:0], m.change.Effects...)
	for i := range m.effects {
		m.effects[i].Diff = ""
	}
	m.change.Effects = m.effects
}

// write writes the waiting lines, and then text. l.mu is held.
func (l *Log) write(text []byte) {
	if all := append(l.waiting, text...); l.err == nil && len(all) > 0 {
		_, l.err = l.file.Write(all)
	}
	l.waiting = l.waiting[:0]
}

// later adds text to the waiting lines, which are written after writeDelay. l.mu is
// held.
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

// syncSoon schedules a sync within SyncDelay, which many steps share. l.mu is held.
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
		// The file is synced without the lock, so that no step waits for the disk.
		// Close syncs by itself.
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

// keep stores the first error. l.mu is held.
func (l *Log) keep(err error) {
	if l.err == nil {
		l.err = err
	}
}

// Err returns the first write error.
func (l *Log) Err() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.err
}

// Close writes and syncs the rest and releases the lock. Close returns the first write
// error.
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
		return fmt.Errorf("writing the run's log: %w; the log is incomplete, so `deployer runs` and `deployer revert` know only a part of the run", l.err)
	}
	return nil
}
