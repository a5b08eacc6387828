package unit

import (
	"context"
	"fmt"
	"time"

	"deployer/engine"
	"deployer/tasks/checkresult"
)

// Checks checks that units run. A unit that does not run is a row of the output, not
// a failure.
type Checks struct {
	Units []string `yaml:"units" rule:"unit" required:"true" doc:"names of units with suffix, such as etcd.service"`
}

var _ engine.Module = (*Checks)(nil)

// Check reads the status of each unit; the output has a row for each.
func (c *Checks) Check(ctx context.Context, sys engine.System) (engine.Change, error) {
	var rows []checkresult.Row
	for _, name := range c.Units {
		rows = append(rows, checkUnit(ctx, sys, name).Named("unit "+name))
	}
	return engine.NoChange(checkresult.Output(rows)), nil
}

func checkUnit(ctx context.Context, sys engine.System, name string) checkresult.Row {
	now, err := show(ctx, sys, name)
	switch {
	case err != nil:
		return checkresult.Problem("", "%v", err)
	case now.Load == "not-found":
		return checkresult.Problem("run deployer install", "not installed")
	case !now.up():
		return checkresult.Problem("look at journalctl -u "+name, "%s (%s, %s)", now.Active, now.Sub, now.Result)
	}
	detail := "active"
	if now.Started > 0 {
		detail = fmt.Sprintf("active since %s", wall(now.Started).UTC().Format(time.DateTime))
	}
	if now.Restarts > 0 {
		detail += fmt.Sprintf(", restarted %d times by systemd", now.Restarts)
	}
	if now.NeedsReload {
		return checkresult.Problem("run deployer install", "%s, but its unit file is newer than what systemd loaded", detail)
	}
	return checkresult.OK("%s", detail)
}

// Apply is never needed.
func (*Checks) Apply(context.Context, engine.System, engine.Change) (engine.Output, error) {
	return nil, nil
}
