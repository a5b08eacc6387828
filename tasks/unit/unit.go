// Package unit has the module for systemd units. It checks the effect of an action
// by the state of the process, not by the exit code of systemctl: a restart has
// happened when a new process runs and stays up.
package unit

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"time"

	"deployer/engine"
	"deployer/tasks/file"
)

// Unit is a systemd unit with its wanted state. The module runs daemon-reload
// whenever a file of the unit is newer than the loaded one.
type Unit struct {
	Name               string         `yaml:"name" rule:"unit" doc:"name of the unit, such as etcd.service; a name without suffix is a service. Optional when only daemon_reload: true is given"`
	Content            string         `yaml:"content" rule:"text" doc:"content of the unit file in /etc/systemd/system; default: another task or package provides the file. A change restarts a started unit"`
	Enabled            *bool          `yaml:"enabled" doc:"start at boot; default: unchanged"`
	Masked             *bool          `yaml:"masked" doc:"prevent any start of the unit (systemctl mask), or permit starts again; default: unchanged"`
	DaemonReload       bool           `yaml:"daemon_reload" doc:"run systemctl daemon-reload first. That happens anyway when files of the unit are newer than the loaded ones. Default false"`
	State              string         `yaml:"state" rule:"in:started,stopped,restarted,reloaded" doc:"started, stopped, restarted or reloaded; the last two act in every run. Default: unchanged"`
	OnlyIfUp           bool           `yaml:"only_if_up" doc:"with state started, restarted or reloaded: do not start a unit that somebody has stopped; start one that failed. Default false"`
	NoBlock            bool           `yaml:"no_block" doc:"do not wait until the unit is up, only until it began to start; for members that need each other. Default false"`
	RestartIfOlderThan []string       `yaml:"restart_if_older_than" rule:"path" doc:"paths; with state started, restart when the running process began before one of them changed. This also repairs a run that was killed between a change and its restart"`
	ReloadIfOlderThan  []string       `yaml:"reload_if_older_than" rule:"path" doc:"paths, as in restart_if_older_than; the unit is reloaded instead of restarted"`
	RestartUnless      []string       `yaml:"restart_unless" rule:"text" doc:"program with its arguments that succeeds while the unit has its effect, as in [nft, list, table, ip, web]; with state started, a unit that is up and whose program fails is restarted"`
	StableFor          *time.Duration `yaml:"stable_for" range:"0s.." doc:"time that the unit must stay up after a start to count as started; default 1s, or 0s for Type=notify units, which report their readiness"`
	Timeout            time.Duration  `yaml:"timeout" range:"0s.." doc:"maximum wait until the unit is up and stable; default 90s"`
}

var _ engine.Module = (*Unit)(nil)

// Valid implements engine.Validator.
func (u *Unit) Valid() error {
	if u.Name == "" && !u.onlyReload() {
		return errors.New("name is missing: which unit?")
	}
	switch u.State {
	case "", "started", "stopped", "restarted", "reloaded":
	default:
		return fmt.Errorf("state is %q, want started, stopped, restarted or reloaded", u.State)
	}
	if u.State != "started" && len(u.RestartIfOlderThan)+len(u.ReloadIfOlderThan)+len(u.RestartUnless) > 0 {
		return errors.New("restart_if_older_than, reload_if_older_than and restart_unless need state: started")
	}
	if u.Masked != nil && *u.Masked && (u.State != "" && u.State != "stopped" || u.Enabled != nil && *u.Enabled) {
		return errors.New("masked forbids that the unit starts: say state: stopped, and not enabled: true")
	}
	return nil
}

// onlyReload reports whether the task only runs daemon-reload.
func (u *Unit) onlyReload() bool {
	return u.Name == "" && u.DaemonReload && u.Content == "" && u.State == "" && u.Enabled == nil && u.Masked == nil
}

// suffixes are the suffixes of all kinds of unit.
var suffixes = []string{".service", ".socket", ".target", ".timer", ".mount", ".automount", ".swap", ".path", ".slice", ".scope", ".device"}

// named returns the unit's name with suffix.
func (u *Unit) named() *Unit {
	if u.Name == "" || slices.Contains(suffixes, filepath.Ext(u.Name)) {
		return u
	}
	whole := *u
	whole.Name += ".service"
	return &whole
}

func (u *Unit) path() string { return filepath.Join("/etc/systemd/system", u.Name) }

func (u *Unit) file() *file.File {
	return &file.File{Path: u.path(), Content: new(u.Content), Mode: "0644"}
}

// restartPaths returns the files whose change requires a restart.
func (u *Unit) restartPaths() []string {
	if u.Content == "" {
		return u.RestartIfOlderThan
	}
	return append([]string{u.path()}, u.RestartIfOlderThan...)
}

// Check compares the unit's status with the wanted state.
func (u *Unit) Check(ctx context.Context, sys engine.System) (engine.Change, error) {
	if err := u.Valid(); err != nil {
		return engine.Change{}, err
	}
	if u.onlyReload() {
		return engine.Change{Needed: true, Wait: true, Effects: []engine.Effect{effect("systemd", "read all unit files again (daemon-reload)")}}, nil
	}
	u = u.named()
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
	if now.NeedsReload || now.Load != "not-found" && (wouldChange(sys, u.path()) || wouldChange(sys, u.path()+".d")) {
		change.Effects = append(change.Effects, effect(u.Name, "read its file again (daemon-reload)"))
	}
	for _, verb := range []string{u.unmasking(now), u.enabling(now)} {
		if verb != "" {
			change.Effects = append(change.Effects, effect(u.Name, verb))
		}
	}
	act, err := u.decide(ctx, sys, now)
	if err != nil {
		return engine.Change{}, err
	}
	if act.verb == "" && change.Needed && u.State == "started" && now.up() {
		act = action{verb: "restart", why: "its file changes"}
	}
	if act.verb != "" {
		change.Effects = append(change.Effects, act.effect(u.Name))
	}
	if verb := u.masking(now); verb != "" {
		change.Effects = append(change.Effects, effect(u.Name, verb))
	}
	change.Needed, change.CheckState = len(change.Effects) > 0, now
	change.Output = engine.Output{"active_state": now.Active, "enabled_state": now.FileState, "main_pid": now.MainPID}
	return change, nil
}

func effect(unit, action string) engine.Effect {
	return engine.Effect{Kind: engine.EffectUnit, Target: unit, Action: action}
}
