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

// deferredTimeout bounds the deferred work of one kind.
const deferredTimeout = time.Minute

var _ engine.Deferrer = (*system)(nil)

// Defer implements engine.Deferrer.
func (s *system) Defer(kind string) error {
	if s.step.server.registry[kind].Deferred == nil {
		return fmt.Errorf("deferring work of %s: the kind has no deferred work; this is a bug of the module", kind)
	}
	return s.step.server.state.deferWork(kind)
}

// deferWork remembers a kind that has work for the end of the segment, as an empty
// file with its name.
func (s *state) deferWork(kind string) error {
	err := makePrivateDirectory(s.deferredDir())
	if err == nil {
		err = os.WriteFile(filepath.Join(s.deferredDir(), kind), nil, 0o600)
	}
	if err != nil {
		return fmt.Errorf("recording deferred work: %w", err)
	}
	return nil
}

func (s *state) deferredDir() string { return filepath.Join(s.dir, "postponed") }

// runDeferred runs the deferred work of all kinds, also that of an agent that died
// before it could. The work runs even when the controller is gone.
func (s *server) runDeferred(ctx context.Context, id uint32, run string, log *journal) error {
	s.deferredLock.Lock()
	defer s.deferredLock.Unlock()
	left, err := os.ReadDir(s.state.deferredDir())
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("listing deferred work: %w", err)
	}
	sys := &system{step: &stepRun{server: s, segment: id, run: run, log: log}}
	var errs []error
	for _, e := range left {
		if err := s.runDeferredKind(context.WithoutCancel(ctx), e.Name(), sys); err != nil {
			errs = append(errs, fmt.Errorf("deferred work of %s: %w", e.Name(), err))
		}
	}
	return errors.Join(errs...)
}

func (s *server) runDeferredKind(ctx context.Context, kind string, sys engine.System) error {
	do := s.registry[kind].Deferred
	if do == nil {
		return nil // left by another version of deployer, which will run it
	}
	ctx, stop := context.WithTimeout(ctx, deferredTimeout)
	defer stop()
	if err := do(ctx, sys); err != nil {
		return err
	}
	return os.Remove(filepath.Join(s.state.deferredDir(), kind))
}
