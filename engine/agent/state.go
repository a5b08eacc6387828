package agent

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"time"

	"deployer/engine"

	"golang.org/x/sys/unix"
)

// state is the directory where a host remembers what was done to it:
//
//	lock                          held while a segment runs
//	owed                          handlers that have to run, as JSON
//	postponed/KIND                what the end of the segment has to do
//	run.lock                      held by the agent of a run; names that run
//	runs/RUN/journal.jsonl        one engine.JournalEntry a line
//	runs/RUN/kept.jsonl           what steps have changed: one Kept a line
//	runs/RUN/kept/N               contents of files that steps have replaced
//
// Each but the empty ones carries the number of its format; see stateFormat.
type state struct {
	dir  string // a path of this machine
	real func(string) string

	mu            sync.Mutex
	holders       int
	lockFile      *os.File
	locking       chan struct{} // holds one token: who may take or release the lock
	journals      map[string]*journal
	backupWriters map[string]*backupWriter
	runChanges    map[string]*runChanges           // runs that are looked back at
	otherJournals map[string][]engine.JournalEntry // journals of other runs, which change no more
}

func openState(opts ServeOptions) *state {
	s := &server{opts: opts}
	return &state{
		dir: s.path(opts.StateDir), real: s.path,
		locking: make(chan struct{}, 1), journals: map[string]*journal{}, backupWriters: map[string]*backupWriter{},
		runChanges: map[string]*runChanges{}, otherJournals: map[string][]engine.JournalEntry{},
	}
}

// runDir is the directory of a run. A run's name is made by the controller, but
// comes over the wire.
func (s *state) runDir(run string) (string, error) {
	if run == "" || run != filepath.Base(run) || run[0] == '.' {
		return "", fmt.Errorf("%q is no name of a run", run)
	}
	return filepath.Join(s.dir, "runs", run), nil
}

// lock takes the state directory for a segment. Segments of one agent share it;
// another agent that still finishes a step of a lost connection keeps it away.
// say reports the waiting, and an end of ctx or a close of gone ends it.
func (s *state) lock(ctx context.Context, gone <-chan struct{}, say func(string)) (unlock func(), err error) {
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
		f, err := takeLock(ctx, gone, filepath.Join(s.dir, "lock"), say)
		s.mu.Lock()
		if err != nil {
			return nil, err
		}
		s.lockFile = f
	}
	s.holders++
	return s.unlock, nil
}

func (s *state) unlock() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.holders--
	if s.holders == 0 {
		_ = s.lockFile.Close()
		s.lockFile = nil
	}
}

// lockPoll is how often a taken lock is tried again.
const lockPoll = 200 * time.Millisecond

func takeLock(ctx context.Context, gone <-chan struct{}, path string, say func(string)) (*os.File, error) {
	if err := makePrivateDirectory(filepath.Dir(path)); err != nil {
		return nil, fmt.Errorf("making the agent's state directory: %w", err)
	}
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, fmt.Errorf("opening the agent's lock: %w", err)
	}
	if err := restrictToOwner(f); err != nil {
		return nil, errors.Join(fmt.Errorf("opening the agent's lock: %w", err), f.Close())
	}
	tick := time.NewTicker(lockPoll)
	defer tick.Stop()
	for told := false; ; told = true {
		err := unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB)
		if err == nil {
			return f, nil
		}
		if !errors.Is(err, unix.EWOULDBLOCK) {
			_ = f.Close()
			return nil, fmt.Errorf("locking %s: %w", path, err)
		}
		if !told {
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

func (s *state) close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, j := range s.journals {
		j.close()
	}
	for _, k := range s.backupWriters {
		k.close()
	}
	clear(s.journals)
	clear(s.backupWriters)
}
