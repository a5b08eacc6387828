package unit

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"deployer/engine"
	"deployer/tasks/hostcmd"
)

// status is the status of a unit by systemd.
type status struct {
	Load        string // loaded, not-found, masked, bad-setting, error
	LoadError   string
	Active      string // active, inactive, failed, activating, deactivating, reloading
	Sub         string
	FileState   string // enabled, disabled, static, ...
	Type        string // of a service: notify, simple, ...
	NeedsReload bool   // the unit file is newer than the loaded one
	CanReload   bool
	MainPID     int
	Restarts    int    // by systemd itself
	Invocation  string // one id for each time the unit was started
	Result      string // success, exit-code, ...
	// Started is the start of the main process, Changed the last change of state (a
	// reload counts), in microseconds of the monotonic clock; 0 when never.
	Started, Changed int64

	dropIns []string // that systemd has read
}

// up reports whether a unit runs, or is a completed one-shot unit that stays active.
func (s status) up() bool { return s.Active == "active" || s.Active == "reloading" }

// waits reports whether the unit failed and systemd will start it again (RestartSec).
func (s status) waits() bool { return strings.HasPrefix(s.Sub, "auto-restart") }

const properties = "LoadState,LoadError,ActiveState,SubState,UnitFileState,Type,NeedDaemonReload,CanReload,MainPID," +
	"NRestarts,InvocationID,Result,ExecMainStartTimestampMonotonic,ActiveEnterTimestampMonotonic,StateChangeTimestampMonotonic,DropInPaths"

func show(ctx context.Context, sys engine.System, name string) (status, error) {
	if said := busProperties(ctx, sys, name); said != nil {
		return statusOf(said), nil
	}
	out, err := hostcmd.Run(ctx, sys, "systemctl", "show", "--property="+properties, "--", name)
	if err != nil {
		return status{}, fmt.Errorf("asking systemd about %s: %w", name, err)
	}
	return parse(out), nil
}

// unitDirs are the directories of drop-ins.
var unitDirs = []string{"/etc/systemd/system", "/run/systemd/system", "/usr/lib/systemd/system"}

// unread reports whether a drop-in exists that systemd has not loaded. systemd 252
// does not report it for the first drop-in, which comes with its directory.
func unread(sys engine.System, name string, read []string) bool {
	names := []string{name}
	if prefix, rest, ok := strings.Cut(name, "@"); ok && !strings.HasPrefix(rest, ".") {
		names = append(names, prefix+"@"+filepath.Ext(rest))
	}
	for _, dir := range unitDirs {
		for _, n := range names {
			entries, _ := os.ReadDir(sys.Path(filepath.Join(dir, n+".d"))) // most units have none
			for _, e := range entries {
				known := func(path string) bool { return filepath.Base(path) == e.Name() } // a drop-in of a directory with precedence hides it
				if strings.HasSuffix(e.Name(), ".conf") && !slices.ContainsFunc(read, known) {
					return true
				}
			}
		}
	}
	return false
}

func parse(out string) status {
	p := map[string]string{}
	for line := range strings.Lines(out) {
		if key, value, ok := strings.Cut(strings.TrimRight(line, "\n"), "="); ok {
			p[key] = value
		}
	}
	return statusOf(p)
}

// statusOf parses a status from properties in the words of systemctl.
func statusOf(p map[string]string) status {
	s := status{
		Load: p["LoadState"], LoadError: p["LoadError"], Active: p["ActiveState"], Sub: p["SubState"],
		FileState: p["UnitFileState"], Type: p["Type"], Result: p["Result"], Invocation: p["InvocationID"],
		NeedsReload: p["NeedDaemonReload"] == "yes", CanReload: p["CanReload"] == "yes",
		dropIns: strings.Fields(p["DropInPaths"]), MainPID: int(number(p["MainPID"])), Restarts: int(number(p["NRestarts"])),
		Started: number(p["ExecMainStartTimestampMonotonic"]), Changed: number(p["StateChangeTimestampMonotonic"]),
	}
	if s.Started == 0 { // no process of its own: a target, a timer, a mount
		s.Started = number(p["ActiveEnterTimestampMonotonic"])
	}
	return s
}

// number parses a decimal, 0 for an empty text: systemd leaves properties empty that
// a kind of unit does not have.
func number(s string) int64 {
	n, _ := strconv.ParseInt(s, 10, 64)
	return n
}

// wall converts microseconds of the monotonic clock into a time that can be compared
// with file times. systemctl prints wall clock times only to the second, and older
// systemd versions have no option for more.
func wall(monotonic int64) time.Time {
	var ts unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_MONOTONIC, &ts); err != nil {
		return time.Time{} // cannot happen on Linux; every file then counts as newer
	}
	ago := time.Duration(ts.Nano()) - time.Duration(monotonic)*time.Microsecond
	return time.Now().Add(-ago)
}

// journal returns the unit's last 20 lines.
func journal(ctx context.Context, sys engine.System, name string) string {
	out, err := hostcmd.Run(ctx, sys, "journalctl", "--unit="+name, "--lines=20", "--no-pager", "--output=short-iso", "--no-hostname")
	if err != nil {
		return "its journal cannot be read: " + err.Error()
	}
	return strings.TrimSpace(out)
}
