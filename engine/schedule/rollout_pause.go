package schedule

import (
	"fmt"
	"slices"

	"deployer/engine"
	"deployer/engine/lang"
	"deployer/engine/program"
)

// pausedError is the cause of the end of a run that pauses after the canaries of a rollout.
type pausedError struct{ rollout string }

// Error implements error; the text says how the run continues.
func (e pausedError) Error() string {
	return fmt.Sprintf("the rollout of %q pauses after its canaries, before it changes other hosts; `deployer resume` continues it", e.rollout)
}

// Is makes a pause an interrupt.
func (pausedError) Is(target error) bool { return target == ErrInterrupted } //nolint:errorlint // the very same

// pauses reports whether a rollout is to pause in this run, with the variables that the first
// host has before the run.
func (r *run) pauses(b *program.Block, vars *lang.Vars) (bool, error) {
	if len(b.Rollout.Pause) == 0 || r.opts.CheckOnly || slices.Contains(r.opts.PassedPauses, b.Rollout.Name) {
		return false, nil
	}
	ok, _, err := lang.ConditionsHold(b.Rollout.Pause, b.Scopes, vars)
	return ok, err
}

// pause ends the run as an interrupt does; the resumed run passes the pause.
func (r *run) pause(b *program.Block) {
	cause := pausedError{b.Name}
	r.leftOpenMu.Lock()
	r.paused = append(r.paused, b.Rollout.Name)
	r.leftOpenMu.Unlock()
	r.emit(engine.Event{Type: engine.EventInterrupted, Text: cause.Error()})
	r.stopNow(cause)
}
