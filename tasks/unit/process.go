package unit

import (
	"context"
	"time"

	"deployer/engine"
)

// Process reads the main process of a systemd unit and changes nothing. Times are
// the host's wall clock in RFC 3339 with nanoseconds, comparable with times of other
// processes of the host.
type Process struct {
	Name string `yaml:"name" rule:"unit" required:"true" doc:"name of the unit with suffix, such as kubelet.service"`
	Log  bool   `yaml:"log" doc:"also return the last 20 lines of the unit's journal. Default false"`
}

var _ engine.Module = (*Process)(nil)

// ReadOnly reports that the module only reads.
func (*Process) ReadOnly() bool { return true }

// Check reads the status. The output has load_state, active_state, result, main_pid,
// invocation, restarts (by systemd), started (empty without a process), now, and
// journal if Log is set.
func (p *Process) Check(ctx context.Context, sys engine.System) (engine.Change, error) {
	now, err := show(ctx, sys, p.Name)
	if err != nil {
		return engine.Change{}, err
	}
	out := engine.Output{
		"load_state": now.Load, "active_state": now.Active, "result": now.Result, "main_pid": now.MainPID,
		"invocation": now.Invocation, "restarts": now.Restarts, "started": "", "now": stamp(time.Now()),
	}
	if now.Started > 0 && now.MainPID > 0 {
		out["started"] = stamp(wall(now.Started))
	}
	if p.Log {
		out["journal"] = journal(ctx, sys, p.Name)
	}
	return engine.NoChange(out), nil
}

func stamp(t time.Time) string { return t.UTC().Format(time.RFC3339Nano) }

// Apply is never needed.
func (*Process) Apply(context.Context, engine.System, engine.Change) (engine.Output, error) {
	return nil, nil
}

// Identity identifies the main process of a unit. Gates compare it before and after
// they check the effect.
type Identity struct {
	Missing    bool // systemd knows no such unit
	Up         bool // the unit is active
	PID        int
	Invocation string    // systemd's id for this start of the unit
	Started    time.Time // of the process, by the wall clock
}

// Running returns the main process of a unit.
func Running(ctx context.Context, sys engine.System, name string) (Identity, error) {
	now, err := show(ctx, sys, name)
	if err != nil {
		return Identity{}, err
	}
	return Identity{Missing: now.Load == "not-found", Up: now.up(), PID: now.MainPID, Invocation: now.Invocation, Started: wall(now.Started)}, nil
}

// Journal returns the last 20 lines of a unit's journal, or the reason why it cannot be read.
func Journal(ctx context.Context, sys engine.System, name string) string {
	return journal(ctx, sys, name)
}
