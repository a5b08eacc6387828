package unit

import (
	"context"
	"fmt"

	"deployer/engine"
	"deployer/tasks/hostcmd"
)

// Apply writes the file, unmasks, reloads, enables, acts and masks, in this order,
// and waits for the effect.
func (u *Unit) Apply(ctx context.Context, sys engine.System, change engine.Change) (engine.Output, error) {
	if u.onlyReload() {
		_, err := hostcmd.Run(ctx, sys, "systemctl", "daemon-reload")
		return nil, err
	}
	u = u.named()
	if err := u.keep(ctx, sys, change); err != nil {
		return nil, err
	}
	if err := u.writeFile(ctx, sys); err != nil {
		return nil, err
	}
	now, err := u.loaded(ctx, sys, change)
	if err != nil {
		return nil, err
	}
	if verb := u.enabling(now); verb == "enable" {
		err = u.enable(ctx, sys, now)
	} else {
		err = u.systemctl(ctx, sys, verb)
	}
	if err != nil {
		return nil, err
	}
	act, err := u.decide(ctx, sys, now)
	if err != nil {
		return nil, err
	}
	out, err := u.carryOut(ctx, sys, now, act)
	if err != nil {
		return nil, err
	}
	return out, u.systemctl(ctx, sys, u.masking(now))
}

// carryOut runs the action, and records which files the process has read.
func (u *Unit) carryOut(ctx context.Context, sys engine.System, now status, act action) (engine.Output, error) {
	if act.verb == "" {
		return nil, nil
	}
	// Taken before the process starts, so that the next run detects a later change.
	marks := takeMarks(sys, u.restartPaths(), u.ReloadIfOlderThan)
	after, err := u.transition(ctx, sys, now, act)
	if err != nil {
		return nil, err
	}
	if err := u.remember(sys, act, after, marks); err != nil {
		return nil, err
	}
	return engine.Output{"active_state": after.Active, "main_pid": after.MainPID, "did": act.verb}, nil
}

// keep backs up the file before the unit: a revert works in reverse order, and can
// only disable a unit while its file exists.
func (u *Unit) keep(ctx context.Context, sys engine.System, change engine.Change) error {
	if u.Content != "" {
		if err := sys.Backup(u.path()); err != nil {
			return err
		}
	}
	now, ok := change.CheckState.(status)
	if !ok {
		var err error
		if now, err = show(ctx, sys, u.Name); err != nil {
			return err
		}
	}
	return sys.BackupState("unit", u.Name, now.kept())
}

func (u *Unit) writeFile(ctx context.Context, sys engine.System) error {
	if u.Content == "" {
		return nil
	}
	change, err := u.file().Check(ctx, sys)
	if err != nil || !change.Needed {
		return err
	}
	_, err = u.file().Apply(ctx, sys, change)
	return err
}

// loaded runs daemon-reload if needed, and returns the unit's status after it.
func (u *Unit) loaded(ctx context.Context, sys engine.System, change engine.Change) (status, error) {
	now, ok := change.CheckState.(status)
	if !ok || u.Content != "" { // the file differs from the one that Check read
		var err error
		if now, err = show(ctx, sys, u.Name); err != nil {
			return now, err
		}
	}
	if verb := u.unmasking(now); verb != "" {
		err := u.systemctl(ctx, sys, verb)
		if err == nil {
			now, err = show(ctx, sys, u.Name)
		}
		if err != nil {
			return now, err
		}
	}
	if now.NeedsReload || now.Load == "not-found" || now.Load == "error" || u.DaemonReload || unread(sys, u.Name, now.dropIns) {
		err := Reload(ctx, sys)
		if err == nil {
			now, err = show(ctx, sys, u.Name)
		}
		if err != nil {
			return now, err
		}
	}
	return now, u.loadable(ctx, sys, now)
}

// loadable returns an error when systemd cannot bring the unit into the wanted
// state.
func (u *Unit) loadable(ctx context.Context, sys engine.System, now status) error {
	wanted := u.State != "stopped" && u.State != "" && (!u.OnlyIfUp || now.up()) || u.Enabled != nil && *u.Enabled
	switch {
	case !wanted:
		return nil
	case now.Load == "not-found":
		return fmt.Errorf("systemd knows no unit %s: install its package or write its file first", u.Name)
	case now.Load == "masked":
		return fmt.Errorf("unit %s is masked: somebody forbade to start it; say masked: false to allow it", u.Name)
	case now.Load == "bad-setting" || now.Load == "error":
		return &engine.Failure{Message: fmt.Sprintf("systemd cannot load unit %s: %s", u.Name, now.LoadError), Detail: journal(ctx, sys, u.Name)}
	}
	return nil
}
