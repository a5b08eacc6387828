package unit

import (
	"context"
	"fmt"
	"time"

	"deployer/engine"
	"deployer/tasks/row"
)

// Checks looks whether units run, and never fails for what it finds.
type Checks struct {
	Units []string `yaml:"units" required:"true" doc:"names with their suffix, as in etcd.service"`
}

var _ engine.Module = (*Checks)(nil)

// Check asks systemd; the output has a row for each unit.
func (c *Checks) Check(ctx context.Context, sys engine.System) (engine.Change, error) {
	var rows []row.Row
	for _, name := range c.Units {
		rows = append(rows, checkUnit(ctx, sys, name).Named("unit "+name))
	}
	return engine.NoChange(row.Output(rows)), nil
}

func checkUnit(ctx context.Context, sys engine.System, name string) row.Row {
	now, err := show(ctx, sys, name)
	switch {
	case err != nil:
		return row.Bad("", "%v", err)
	case now.Load == "not-found":
		return row.Bad("run deployer install", "not installed")
	case !now.up():
		return row.Bad("look at journalctl -u "+name, "%s (%s, %s)", now.Active, now.Sub, now.Result)
	}
	detail := "active"
	if now.Started > 0 {
		detail = fmt.Sprintf("active since %s", wall(now.Started).UTC().Format(time.DateTime))
	}
	if now.Restarts > 0 {
		detail += fmt.Sprintf(", restarted %d times by systemd", now.Restarts)
	}
	if now.NeedsReload {
		return row.Bad("run deployer install", "%s, but its unit file is newer than what systemd loaded", detail)
	}
	return row.OK("%s", detail)
}

// Apply is never needed.
func (*Checks) Apply(context.Context, engine.System, engine.Change) (engine.Output, error) {
	return nil, nil
}
