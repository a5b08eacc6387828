package unit

import (
	"context"
	"fmt"
	"slices"

	"deployer/engine"
	"deployer/tasks/hostcmd"
)

// Restorer restores whether a unit starts at boot, whether it is masked, and whether
// it runs.
var Restorer = &engine.Restorer{
	Effect: engine.EffectUnit,
	Read: func(ctx context.Context, sys engine.System, name string) (engine.State, error) {
		now, err := show(ctx, sys, name)
		return now.kept(), err
	},
	Restore:            restore,
	EquivalentToAbsent: idle,
	// A unit must not start before its files are restored.
	NeedsFilesFirst: func(to engine.State) bool { return to[keyActive] == "yes" },
	Stopped:         func(s engine.State) bool { return s[keyActive] == "no" },
}

// The keys of a unit's state.
const (
	keyEnabled = "enabled" // systemd's UnitFileState
	keyActive  = "active"  // yes or no
)

// kept returns the unit's state as far as it can be restored.
func (s status) kept() engine.State {
	if s.Load == "not-found" && !s.up() {
		return nil
	}
	active := "no"
	if s.up() || s.Active == "activating" {
		active = "yes"
	}
	return engine.State{keyEnabled: s.FileState, keyActive: active}
}

// idle reports whether the unit does nothing, now and at the next boot.
func idle(s engine.State) bool {
	return s[keyActive] != "yes" && slices.Contains([]string{"", "disabled", "static", "indirect"}, s[keyEnabled])
}

func restore(ctx context.Context, sys engine.System, name string, now, to engine.State) error {
	verbs := unitFileActions(now, to)
	if now[keyActive] == "yes" && to[keyActive] != "yes" {
		verbs = append([]string{"stop"}, verbs...)
	}
	for _, verb := range verbs {
		if _, err := hostcmd.Run(ctx, sys, "systemctl", verb, name); err != nil {
			return fmt.Errorf("restoring unit %s: %w", name, err)
		}
	}
	if now[keyActive] == "yes" || to[keyActive] != "yes" {
		return nil
	}
	u := &Unit{Name: name, State: "started"}
	_, err := u.Apply(ctx, sys, engine.Change{})
	return err
}

// unitFileActions returns the verbs that bring a unit's links below /etc from one state
// into another.
func unitFileActions(now, to engine.State) []string {
	from, want := now[keyEnabled], to[keyEnabled]
	on := []string{"enabled", "alias"}
	var out []string
	switch {
	case from == want:
		return nil
	case from == "masked":
		out = append(out, "unmask")
	case slices.Contains(on, from) && !slices.Contains(on, want):
		out = append(out, "disable")
	}
	switch {
	case want == "masked":
		out = append(out, "mask")
	case slices.Contains(on, want):
		out = append(out, "enable")
	}
	return out
}

// Gate returns a task that makes a running unit follow its files, and leaves a
// stopped one alone: the revert itself enables, starts and stops units.
func (u *Unit) Gate() any {
	if u.State == "" || u.State == "stopped" {
		return nil
	}
	gate := *u.named()
	gate.RestartIfOlderThan = gate.restartPaths()
	if u.State != "started" {
		gate.RestartIfOlderThan = nil
	}
	gate.Content, gate.Enabled, gate.Masked, gate.OnlyIfUp = "", nil, nil, true
	return &gate
}
