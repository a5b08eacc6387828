package unit

import (
	"context"
	"fmt"
	"time"

	"deployer/engine"
	"deployer/tasks/hostcmd"
	"deployer/tasks/receipt"
)

// action is a systemctl verb with the reason for it.
type action struct{ verb, why string }

func (a action) effect(unit string) engine.Effect {
	e := effect(unit, a.verb)
	if a.verb == "restart" || a.verb == "reload" {
		e.Kind = engine.EffectRestart
	}
	e.Reason = a.why
	return e
}

// decide returns the action for a unit in this status; an empty verb for none.
func (u *Unit) decide(ctx context.Context, sys engine.System, now status) (action, error) {
	if u.OnlyIfUp && !now.up() && now.Active != "failed" && now.Active != "activating" {
		return action{}, nil
	}
	switch u.State {
	case "stopped":
		if now.Active == "inactive" || now.Active == "failed" || now.Load == "not-found" {
			return action{}, nil
		}
		return action{verb: "stop"}, nil
	case "restarted":
		return action{verb: "restart"}, nil
	case "reloaded":
		if !now.up() {
			return action{verb: "start", why: "it does not run yet"}, nil
		}
		return action{verb: "reload"}, nil
	case "started":
		return u.decideStarted(ctx, sys, now)
	}
	return action{}, nil
}

func (u *Unit) decideStarted(ctx context.Context, sys engine.System, now status) (action, error) {
	began := now.up() || u.NoBlock && now.Active == "activating"
	switch {
	case !began && now.waits():
		// systemd would keep a start in its queue until its own next attempt; restart acts at
		// once (systemd src/core/service.c, service_start).
		return action{verb: "restart", why: "it waits for its next attempt"}, nil
	case !began:
		return action{verb: "start"}, nil
	}
	var rec marks
	known := receipt.Read(sys, u.receiptPath(), &rec) && rec.Invocation == now.Invocation
	if !known {
		rec = marks{}
	}
	changed, err := receipt.Unread(sys, u.restartPaths(), rec.Restart, func() (time.Time, error) { return wall(now.Started), nil })
	if err != nil {
		return action{}, err
	}
	if changed != "" {
		return action{verb: "restart", why: "it started before " + changed + " changed"}, nil
	}
	changed, err = receipt.Unread(sys, u.ReloadIfOlderThan, rec.Reload, func() (time.Time, error) { return wall(max(now.Started, now.Changed)), nil })
	if err != nil {
		return action{}, err
	}
	if changed == "" {
		return u.decideEffect(ctx, sys)
	}
	return action{verb: "reload", why: "it has not read " + changed + " since it changed"}, nil
}

// decideEffect restarts a unit whose effect is gone although it is up.
func (u *Unit) decideEffect(ctx context.Context, sys engine.System) (action, error) {
	if len(u.RestartUnless) == 0 {
		return action{}, nil
	}
	r, err := sys.Run(ctx, engine.Command{Argv: u.RestartUnless})
	if err != nil || r.Exit == 0 {
		return action{}, err
	}
	return action{verb: "restart", why: fmt.Sprintf("it is up without its effect: %s fails", hostcmd.Quote(u.RestartUnless))}, nil
}

// marks is the receipt of a unit: the files that the process of this invocation has
// read. It is exact where clocks are not: times are compared only for a process that
// was not started by this module.
type marks struct {
	Invocation string                   `json:"invocation"`
	Restart    map[string]receipt.Stamp `json:"restart,omitempty"`
	Reload     map[string]receipt.Stamp `json:"reload,omitempty"`
}

func (u *Unit) receiptPath() string { return receipt.Path("unit", u.Name) }

func takeMarks(sys engine.System, restart, reload []string) marks {
	stamps := func(paths []string) map[string]receipt.Stamp {
		out := map[string]receipt.Stamp{}
		for _, p := range paths {
			if s, err := receipt.Take(sys, p); err == nil {
				out[p] = s
			}
		}
		return out
	}
	return marks{Restart: stamps(restart), Reload: stamps(reload)}
}

// remember writes the receipt. A reload only updates the files that a reload is for.
func (u *Unit) remember(sys engine.System, act action, after status, seen marks) error {
	if act.verb == "stop" || len(seen.Restart)+len(seen.Reload) == 0 || after.Invocation == "" {
		return nil
	}
	if act.verb == "reload" {
		var rec marks
		seen.Restart = nil
		if receipt.Read(sys, u.receiptPath(), &rec) && rec.Invocation == after.Invocation {
			seen.Restart = rec.Restart
		}
	}
	seen.Invocation = after.Invocation
	return receipt.Write(sys, u.receiptPath(), seen)
}

// wouldChange reports whether a dry run has found the path to be changed before
// this step.
func wouldChange(sys engine.System, path string) bool {
	f, ok := sys.(engine.DryRunView)
	return ok && f.WouldChange(path)
}
