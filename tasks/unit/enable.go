package unit

import (
	"context"
	"path/filepath"
	"slices"
	"strings"

	"deployer/engine"
	"deployer/tasks/hostcmd"
)

// Kind is the name of the module, for deferred work and backups.
const Kind = "unit"

// Reload runs systemctl daemon-reload.
func Reload(ctx context.Context, sys engine.System) error {
	_, err := hostcmd.Run(ctx, sys, "systemctl", "daemon-reload")
	return err
}

// enable enables the unit. systemctl would reload all unit files for each unit,
// which takes 0.1 to 0.2 s of a processor. Links for the next boot are needed only
// at the end of the segment, so their reload is deferred; other links are reloaded
// at once.
func (u *Unit) enable(ctx context.Context, sys engine.System, before status) error {
	later, ok := sys.(engine.Deferrer)
	if !ok || before.Active != "inactive" {
		return u.systemctl(ctx, sys, "enable") // one that runs keeps its old state in systemd until then
	}
	if err := later.Defer(Kind); err != nil {
		return err
	}
	argv := []string{"systemctl", "--no-reload", "enable", u.Name}
	result, err := sys.Run(ctx, engine.Command{Argv: argv})
	if err != nil {
		return err
	}
	if result.Exit != 0 {
		return hostcmd.Failed(argv, result)
	}
	now, err := show(ctx, sys, u.Name)
	if err == nil && (now.FileState != "enabled" || !forBoot(result.Stdout+result.Stderr)) {
		err = Reload(ctx, sys)
	}
	return err
}

// bootTargets are the targets that a running host has reached: units that they want
// start at the next boot, and not by a task.
var bootTargets = []string{"multi-user.target.wants", "graphical.target.wants", "timers.target.wants", "sockets.target.wants"}

// forBoot reports, by the output of systemctl, whether all links that it has created
// are for the next boot. Other links may be needed by the next task.
func forBoot(said string) bool {
	links := 0
	for line := range strings.Lines(said) {
		rest, ok := strings.CutPrefix(line, "Created symlink ")
		if !ok {
			continue
		}
		link, _, _ := strings.Cut(strings.TrimPrefix(rest, "from "), " ")
		if !slices.Contains(bootTargets, filepath.Base(filepath.Dir(strings.Trim(link, "'")))) {
			return false
		}
		links++
	}
	return links > 0
}
