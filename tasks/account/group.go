package account

import (
	"context"
	"fmt"
	"strconv"

	"deployer/engine"
	"deployer/tasks/hostcmd"
)

// Group manages a group of the host.
type Group struct {
	Name   string `yaml:"name" rule:"account" required:"true" doc:"name of the group"`
	GID    int    `yaml:"gid" range:"0..4294967294" doc:"group number; default: chosen by the system. A different number for an existing group is an error"`
	System bool   `yaml:"system" doc:"create a system group, with a number from that range; default false"`
	State  string `yaml:"state" enum:"present,absent" doc:"present or absent; default present"`
}

var (
	_ engine.Module = (*Group)(nil)
	_ engine.Module = (*User)(nil)
)

// Valid implements engine.Validator.
func (g *Group) Valid() error {
	if !validName(g.Name) {
		return fmt.Errorf("%q is not a name for a group", g.Name)
	}
	return nil
}

// Check reads /etc/group.
func (g *Group) Check(_ context.Context, sys engine.System) (engine.Change, error) {
	if err := g.Valid(); err != nil {
		return engine.Change{}, err
	}
	have, err := entry(sys, "/etc/group", g.Name)
	if err != nil {
		return engine.Change{}, err
	}
	effect := engine.Effect{Kind: engine.EffectFile, Target: "group " + g.Name}
	switch {
	case g.State == "absent" && have == nil:
		return engine.NoChange(nil), nil
	case g.State == "absent":
		effect.Action = "remove"
		return engine.Changed(effect), nil
	case have == nil:
		effect.Action = "create"
		return engine.Changed(effect), nil
	case g.GID != 0 && len(have) > 2 && have[2] != strconv.Itoa(g.GID):
		return engine.Change{}, fmt.Errorf("group %s has the number %s, not %d: files would change hands, so change it by hand", g.Name, have[2], g.GID)
	}
	return engine.NoChange(nil), nil
}

// Apply runs groupadd or groupdel.
func (g *Group) Apply(ctx context.Context, sys engine.System, _ engine.Change) (engine.Output, error) {
	now, err := lookGroup(sys, g.Name)
	if err == nil {
		err = sys.BackupState("group", g.Name, now)
	}
	if err != nil {
		return nil, err
	}
	if g.State == "absent" {
		_, err := hostcmd.Run(ctx, sys, "groupdel", g.Name)
		return nil, err
	}
	argv := []string{"groupadd"}
	if g.System {
		argv = append(argv, "--system")
	}
	if g.GID != 0 {
		argv = append(argv, "--gid", strconv.Itoa(g.GID))
	}
	_, err = hostcmd.Run(ctx, sys, append(argv, g.Name)...)
	return nil, err
}
