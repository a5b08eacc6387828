package journal

import (
	"encoding/json"
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
}

// Create begins the journal of a run, with its header on the disk. A run id
// that was used before is an error.
func Create(dir string, h Header) (*Log, error) {
	if h.Run == "" || strings.ContainsAny(h.Run, "/\\") || strings.HasPrefix(h.Run, ".") {
		return nil, fmt.Errorf("run id %q cannot be a file name", h.Run)
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("making the directory of run logs: %w", err)
	}
	f, err := os.OpenFile(Path(dir, h.Run), os.O_WRONLY|os.O_APPEND|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return nil, fmt.Errorf("making the log of the run: %w", err)
	}
	l := &Log{file: f}
	if err := errors.Join(flock(f, syscall.LOCK_EX), l.begin(dir, h)); err != nil {
		_ = f.Close()
		return nil, fmt.Errorf("writing the log of the run: %w", err)
	}
	return l, nil
}

func (l *Log) begin(dir string, h Header) error {
	l.write(line{Header: &h})
	if l.err != nil {
		return l.err
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
	case engine.StepEnd:
		e.Result = withoutOutput(e.Result)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.file == nil {
		return
	}
	l.write(line{Event: &e})
	switch e.Type {
	case engine.RunEnd:
		l.sync()
	case engine.StepEnd, engine.HostParked, engine.Interrupted:
		l.syncSoon()
	}
}

// withoutOutput copies a result without what the step learned.
func withoutOutput(r *engine.Result) *engine.Result {
	if r == nil {
		return nil
	}
	out := *r
	out.Output = nil
	if r.Change != nil {
		c := *r.Change
		c.Output, c.Memo = nil, nil
		out.Change = &c
	}
	return &out
}

func (l *Log) write(v line) {
	if l.err != nil {
		return
	}
	data, err := json.Marshal(v)
	if err == nil {
		_, err = l.file.Write(append(data, '\n'))
	}
	l.err = err
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
		defer l.mu.Unlock()
		if l.file != nil && l.dirty {
			l.sync()
		}
	})
}

func (l *Log) sync() {
	l.dirty = false
	if err := l.file.Sync(); err != nil && l.err == nil {
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
	err := l.file.Close()
	l.file = nil
	if l.err == nil {
		l.err = err
	}
	if l.err != nil {
		return fmt.Errorf("writing the log of the run: %w", l.err)
	}
	return nil
}
