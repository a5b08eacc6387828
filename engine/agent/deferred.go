package agent

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"deployer/engine"
)

// deferredTimeout bounds each kind of work that steps have postponed.
const deferredTimeout = time.Minute

var _ engine.Postponer = (*system)(nil)

// Postpone implements engine.Postponer.
func (s *system) Postpone(kind string) error {
	if s.step.server.registry[kind].Postponed == nil {
		return fmt.Errorf("postponing work of %s: nothing could do it; this is a bug of the module", kind)
	}
	return s.step.server.state.deferWork(kind)
}

// deferWork remembers a kind that has work for the end of the segment, as an
// empty file with its name.
func (s *state) deferWork(kind string) error {
	err := makePrivateDirectory(s.deferredDir())
	if err == nil {
		err = os.WriteFile(filepath.Join(s.deferredDir(), kind), nil, 0o600)
	}
	if err != nil {
		return fmt.Errorf("writing down what is to be done later: %w", err)
	}
	return nil
}

func (s *state) deferredDir() string { return filepath.Join(s.dir, "postponed") }

// runDeferred does what was postponed, also by an agent that died before it could.
// The controller being gone is no reason to leave it.
func (s *server) runDeferred(ctx context.Context, id uint32, run string, log *journal) error {
	s.deferredLock.Lock()
	defer s.deferredLock.Unlock()
	left, err := os.ReadDir(s.state.deferredDir())
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("looking for what was left to be done: %w", err)
	}
	sys := &system{step: &stepRun{server: s, segment: id, run: run, log: log}}
	var errs []error
	for _, e := range left {
		if err := s.runDeferredKind(context.WithoutCancel(ctx), e.Name(), sys); err != nil {
			errs = append(errs, fmt.Errorf("what tasks of %s have left to the end: %w", e.Name(), err))
		}
	}
	return errors.Join(errs...)
}

func (s *server) runDeferredKind(ctx context.Context, kind string, sys engine.System) error {
	ctx, stop := context.WithTimeout(ctx, deferredTimeout)
	defer stop()
	// A kind that this agent does not know was left by another version.
	if do := s.registry[kind].Postponed; do != nil {
		if err := do(ctx, sys); err != nil {
			return err
		}
	}
	return os.Remove(filepath.Join(s.state.deferredDir(), kind))
}
