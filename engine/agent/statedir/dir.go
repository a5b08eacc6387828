package statedir

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

// Dir is the directory in which a host keeps the records of runs:
//
//	lock                          held while a segment runs
//	owed                          pending handlers, as JSON
//	postponed/KIND                work that is deferred to the end of the segment
//	run.lock                      held by the agent of a run; names the run
//	session                       mark of the newest session
//	spread/DIGEST                 blob that other hosts may request; see package peer
//	runs/RUN/journal.jsonl        one engine.JournalEntry a line
//	runs/RUN/kept.jsonl           backup log; see package undo
//	runs/RUN/kept/N               contents of files that steps have replaced; see package undo
//	runs/RUN/record               copy of the controller's log; see package record
//
// Each file that is not empty carries the number of its format; see [Format]. The
// names on the disk (owed, postponed, kept) are part of the format and stay as they
// are.
//
// Its methods may be called concurrently.
type Dir struct {
	// Path is the directory, as a path of this machine.
	Path string
	// OnNewRun is called after the directory of a new run was created, to make room;
	// nil when there is nothing to do. OnNewRun must not call methods of Dir that create
	// directories of runs.
	OnNewRun func()

	records sync.Mutex // held while a record is appended to

	mu       sync.Mutex
	holders  int
	lockFile *os.File
	locking  chan struct{} // a mutex that select can wait for: one token
	journals map[string]*Journal
}

// Open returns the state directory at a path of this machine. Open creates nothing yet.
func Open(path string) *Dir {
	return &Dir{Path: path, locking: make(chan struct{}, 1), journals: map[string]*Journal{}}
}

// RunDir returns the directory of a run. The controller makes the run's name, but
// the name comes over the wire: one that is not a plain file name is an error.
func (s *Dir) RunDir(run string) (string, error) {
	if run == "" || run != filepath.Base(run) || run[0] == '.' {
		return "", fmt.Errorf("%q is not the name of a run", run)
	}
	return filepath.Join(s.Path, "runs", run), nil
}

// makeRunDir returns the directory of a run, and creates it. s.mu is held.
func (s *Dir) makeRunDir(run string) (string, error) {
	dir, err := s.RunDir(run)
	if err != nil {
		return "", err
	}
	_, err = os.Stat(dir)
	fresh := errors.Is(err, fs.ErrNotExist)
	if err := errors.Join(MakePrivateDirectory(s.Path), MakePrivateDirectory(filepath.Dir(dir)), MakePrivateDirectory(dir)); err != nil {
		return "", fmt.Errorf("creating the directory of the run on the host: %w", err)
	}
	if fresh && s.OnNewRun != nil {
		s.OnNewRun()
	}
	return dir, nil
}

// Lock takes the lock of the state directory for a segment. Segments of one agent
// share the lock; another agent that finishes a step of a lost connection, or serves
// another run, keeps it from them. say reports the wait once. The wait ends with the
// cause of ctx, or with an error when gone is closed.
func (s *Dir) Lock(ctx context.Context, gone <-chan struct{}, say func(string)) (unlock func(), err error) {
	select {
	case s.locking <- struct{}{}:
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
	defer func() { <-s.locking }()
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.holders == 0 {
		s.mu.Unlock()
		f, err := takeLock(ctx, gone, filepath.Join(s.Path, "lock"), say)
		s.mu.Lock()
		if err != nil {
			return nil, err
		}
		s.lockFile = f
	}
	s.holders++
	return s.unlock, nil
}

// unlock releases one segment's share of the lock.
func (s *Dir) unlock() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.holders--
	if s.holders == 0 {
		_ = s.lockFile.Close()
		s.lockFile = nil
	}
}

// lockPoll is the interval between two attempts to take the lock.
const lockPoll = 200 * time.Millisecond

// takeLock opens and locks the file at path; see Dir.Lock.
func takeLock(ctx context.Context, gone <-chan struct{}, path string, say func(string)) (*os.File, error) {
	if err := MakePrivateDirectory(filepath.Dir(path)); err != nil {
		return nil, fmt.Errorf("making the agent's state directory: %w", err)
	}
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, fmt.Errorf("opening the agent's lock: %w", err)
	}
	if err := RestrictToOwner(f); err != nil {
		return nil, errors.Join(fmt.Errorf("opening the agent's lock: %w", err), f.Close())
	}
	tick := time.NewTicker(lockPoll)
	defer tick.Stop()
	for reported := false; ; reported = true {
		err := unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB)
		if err == nil {
			return f, nil
		}
		if !errors.Is(err, unix.EWOULDBLOCK) {
			_ = f.Close()
			return nil, fmt.Errorf("locking %s: %w", path, err)
		}
		if !reported {
			say("waiting for another agent on this host: it finishes a step of an earlier connection, or serves another run")
		}
		select {
		case <-tick.C:
			continue
		case <-ctx.Done():
			err = context.Cause(ctx)
		case <-gone:
			err = errors.New("the connection was lost while waiting for another agent on this host")
		}
		_ = f.Close()
		return nil, err
	}
}

// Close closes the journals of all runs.
func (s *Dir) Close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, j := range s.journals {
		j.close()
	}
	clear(s.journals)
}
