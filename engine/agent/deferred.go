package agent

import (
	"context"
	"errors"
	"fmt"
	"time"

	"deployer/engine"
	"deployer/engine/agent/statedir"
)

// deferredTimeout bounds the deferred work of one kind.
const deferredTimeout = time.Minute

var _ engine.Deferrer = (*system)(nil)

// Defer implements engine.Deferrer.
func (s *system) Defer(kind string) error {
	if s.step.server.registry[kind].Deferred == nil {
		return fmt.Errorf("deferring work of %s: the kind has no deferred work; this is a bug of the module", kind)
	}
	return s.step.server.state.DeferWork(kind)
}

// runDeferred runs the deferred work of all kinds, also that of an agent that died
// before it could. The work runs even when the controller is gone.
func (s *server) runDeferred(ctx context.Context, id uint32, run string, log *statedir.Journal) error {
	s.deferredLock.Lock()
	defer s.deferredLock.Unlock()
	kinds, err := s.state.DeferredWork()
	if err != nil {
		return err
	}
	sys := &system{step: &stepRun{server: s, segment: id, run: run, log: log}}
	var errs []error
	for _, kind := range kinds {
		if err := s.runDeferredKind(context.WithoutCancel(ctx), kind, sys); err != nil {
			errs = append(errs, fmt.Errorf("deferred work of %s: %w", kind, err))
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
	return s.state.RemoveDeferredWork(kind)
}
