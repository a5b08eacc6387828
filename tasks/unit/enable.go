package unit

import (
	"context"
	"path/filepath"
	"slices"
	"strings"

	"deployer/engine"
	"deployer/tasks/hostcmd"
)

// Kind is the name of the module, under which it postpones work.
const Kind = "unit"

// Reload makes systemd read all unit files again.
func Reload(ctx context.Context, sys engine.System) error {
	_, err := hostcmd.Run(ctx, sys, "systemctl", "daemon-reload")
	return err
}

// enable enables the unit. systemctl would have systemd read all unit files
// again for each, which keeps a processor busy for a tenth of a second or two.
// What is to be started at boot is needed once the whole segment is done; only
// what cannot wait for that is read at once.
func (u *Unit) enable(ctx context.Context, sys engine.System, before status) error {
	later, ok := sys.(engine.Postponer)
	if !ok || before.Active != "inactive" {
		return u.systemctl(ctx, sys, "enable") // one that runs keeps its old state in systemd until then
	}
	if err := later.Postpone(Kind); err != nil {
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

// bootTargets are those that a running host has reached: what they want is
// started by the next boot, and by no task.
var bootTargets = []string{"multi-user.target.wants", "graphical.target.wants", "timers.target.wants", "sockets.target.wants"}

// forBoot tells from what systemctl says whether all links that it has made are
// for the next boot. Others could be needed by the very next task.
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
