// Package unit has the module for systemd units. It looks at what systemd says
// a process did, not at whether a command was given: a restart has happened
// when a new process runs and stays up.
package unit

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"time"

	"deployer/engine"
	"deployer/tasks/file"
	"deployer/tasks/hostcmd"
)

// Unit is a systemd unit with its wanted state. systemd is told to read unit
// files again whenever the file is newer than what it has loaded.
type Unit struct {
	Name               string         `yaml:"name" required:"true" doc:"name with its suffix, as in etcd.service"`
	Content            string         `yaml:"content" doc:"the unit file, written to /etc/systemd/system; default: the file is made elsewhere. A change restarts a started unit"`
	Enabled            *bool          `yaml:"enabled" doc:"start at boot; default: leave as it is"`
	State              string         `yaml:"state" doc:"started, stopped, restarted or reloaded; the last two act every time. Default: leave as it is"`
	OnlyIfUp           bool           `yaml:"only_if_up" doc:"with state started, restarted or reloaded: leave a unit alone that somebody has stopped; one that failed is started. Default false"`
	NoBlock            bool           `yaml:"no_block" doc:"do not wait until the unit is up, only until it began to start; for members that need each other. Default false"`
	RestartIfOlderThan []string       `yaml:"restart_if_older_than" doc:"paths; with state started, restart when the running process began before one of them changed. This also repairs a run that was killed between a change and its restart"`
	ReloadIfOlderThan  []string       `yaml:"reload_if_older_than" doc:"paths; as restart_if_older_than, but a reload will do"`
	StableFor          *time.Duration `yaml:"stable_for" doc:"how long the unit must stay up after a start to count as started; default 1s, and 0s for Type=notify, which says itself when it is ready"`
	Timeout            time.Duration  `yaml:"timeout" doc:"how long to wait until the unit is up and stable; default 90s"`
}

var _ engine.Module = (*Unit)(nil)

func (u *Unit) valid() error {
	if !strings.Contains(u.Name, ".") {
		return fmt.Errorf("unit name %q has no suffix such as .service", u.Name)
	}
	switch u.State {
	case "", "started", "stopped", "restarted", "reloaded":
	default:
		return fmt.Errorf("state is %q, want started, stopped, restarted or reloaded", u.State)
	}
	if u.State != "started" && len(u.RestartIfOlderThan)+len(u.ReloadIfOlderThan) > 0 {
		return errors.New("restart_if_older_than and reload_if_older_than need state: started")
	}
	return nil
}

func (u *Unit) path() string { return filepath.Join("/etc/systemd/system", u.Name) }

func (u *Unit) file() *file.File {
	return &file.File{Path: u.path(), Content: u.Content, Mode: "0644"}
}

// restartPaths are the files whose change asks for a restart.
func (u *Unit) restartPaths() []string {
	if u.Content == "" {
		return u.RestartIfOlderThan
	}
	return append([]string{u.path()}, u.RestartIfOlderThan...)
}

// Check compares what systemd says with what is wanted.
func (u *Unit) Check(ctx context.Context, sys engine.System) (engine.Change, error) {
	if err := u.valid(); err != nil {
		return engine.Change{}, err
	}
	var change engine.Change
	if u.Content != "" {
		var err error
		if change, err = u.file().Check(ctx, sys); err != nil {
			return engine.Change{}, err
		}
	}
	now, err := show(ctx, sys, u.Name)
	if err != nil {
		return engine.Change{}, err
	}
	if now.NeedsReload {
		change.Effects = append(change.Effects, effect(u.Name, "read its file again (daemon-reload)"))
	}
	if verb := u.enabling(now); verb != "" {
		change.Effects = append(change.Effects, effect(u.Name, verb))
	}
	act, err := u.decide(sys, now)
	if err != nil {
		return engine.Change{}, err
	}
	if act.verb == "" && change.Needed && u.State == "started" && now.up() {
		act = action{verb: "restart", why: "its file changes"}
	}
	if act.verb != "" {
		change.Effects = append(change.Effects, act.effect(u.Name))
	}
	change.Needed, change.Memo = len(change.Effects) > 0, now
	change.Output = engine.Output{"active_state": now.Active, "enabled_state": now.FileState, "main_pid": now.MainPID}
	return change, nil
}

func effect(unit, action string) engine.Effect {
	return engine.Effect{Kind: engine.EffectUnit, Target: unit, Action: action}
}

// enabling is the systemctl verb that enabled asks for, or empty. Units without
// an [Install] section have nothing to enable.
func (u *Unit) enabling(now status) string {
	if u.Enabled == nil {
		return ""
	}
	on := now.FileState == "enabled" || now.FileState == "alias"
	fixed := now.FileState == "static" || now.FileState == "generated" || now.FileState == "indirect" || now.FileState == "transient"
	switch {
	case fixed || on == *u.Enabled:
		return ""
	case *u.Enabled:
		return "enable"
	case now.Load == "not-found" || now.FileState == "masked":
		return ""
	}
	return "disable"
}

// Apply writes, reloads, enables and acts, in this order, and waits for the
// effect.
func (u *Unit) Apply(ctx context.Context, sys engine.System, change engine.Change) (engine.Output, error) {
	if err := u.keep(ctx, sys, change); err != nil {
		return nil, err
	}
	if err := u.writeFile(ctx, sys); err != nil {
		return nil, err
	}
	now, err := u.loaded(ctx, sys)
	if err != nil {
		return nil, err
	}
	if verb := u.enabling(now); verb != "" {
		if _, err := hostcmd.Run(ctx, sys, "systemctl", verb, u.Name); err != nil {
			return nil, err
		}
	}
	act, err := u.decide(sys, now)
	if err != nil || act.verb == "" {
		return nil, err
	}
	// Taken before the process starts: a change after this is seen by the next
	// run.
	marks := takeMarks(sys, u.restartPaths(), u.ReloadIfOlderThan)
	after, err := u.act(ctx, sys, now, act)
	if err != nil {
		return nil, err
	}
	if err := u.remember(sys, act, after, marks); err != nil {
		return nil, err
	}
	return engine.Output{"active_state": after.Active, "main_pid": after.MainPID, "did": act.verb}, nil
}

// keep keeps the file before the unit, as a revert goes backwards and can only
// disable a unit while its file is there.
func (u *Unit) keep(ctx context.Context, sys engine.System, change engine.Change) error {
	if u.Content != "" {
		if err := sys.Keep(u.path()); err != nil {
			return err
		}
	}
	now, ok := change.Memo.(status)
	if !ok {
		var err error
		if now, err = show(ctx, sys, u.Name); err != nil {
			return err
		}
	}
	return sys.KeepState("unit", u.Name, now.kept())
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

// loaded makes systemd read unit files again when it must, and returns the
// unit's status after that.
func (u *Unit) loaded(ctx context.Context, sys engine.System) (status, error) {
	now, err := show(ctx, sys, u.Name)
	if err != nil {
		return now, err
	}
	if now.NeedsReload || now.Load == "not-found" {
		if _, err := hostcmd.Run(ctx, sys, "systemctl", "daemon-reload"); err != nil {
			return now, err
		}
		if now, err = show(ctx, sys, u.Name); err != nil {
			return now, err
		}
	}
	wanted := u.State != "stopped" && u.State != "" && (!u.OnlyIfUp || now.up()) || u.Enabled != nil && *u.Enabled
	switch {
	case !wanted:
		return now, nil
	case now.Load == "not-found":
		return now, fmt.Errorf("systemd knows no unit %s: install its package or write its file first", u.Name)
	case now.Load == "masked":
		return now, fmt.Errorf("unit %s is masked: somebody forbade to start it; run systemctl unmask %s to allow it", u.Name, u.Name)
	case now.Load == "bad-setting" || now.Load == "error":
		return now, &engine.Failure{Message: fmt.Sprintf("systemd cannot load unit %s: %s", u.Name, now.LoadError), Detail: journal(ctx, sys, u.Name)}
	}
	return now, nil
}
