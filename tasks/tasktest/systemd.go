package tasktest

import (
	"cmp"
	"context"
	"fmt"
	"strings"
	"sync"

	"golang.org/x/sys/unix"

	"deployer/engine"
)

// Systemd is a fake of systemctl and journalctl for a few units.
type Systemd struct {
	mu    sync.Mutex
	units map[string]*FakeUnit
	next  int
}

// FakeUnit is a unit of a fake systemd. Set its fields before the test runs.
type FakeUnit struct {
	Type      string // default simple
	Enabled   bool
	Masked    bool
	Active    string // default inactive
	Reload    bool   // the unit file is newer than the loaded one
	CanReload bool
	Links     string // output of systemctl when it enables the unit
	// OnStart decides how a start ends: the new ActiveState, default active.
	OnStart func(start int) string
	Sub     string // default x
	// FailStart makes systemctl start and restart exit with 1.
	FailStart bool
	// Begun is an attempt of systemd that is in progress and fails: systemctl start waits for
	// it and exits with 1.
	Begun bool
	// Limited makes systemctl start and restart exit with 1 until reset-failed.
	Limited bool
	// Crashes is the number of times that the process ends by itself after a start, once for
	// each query of its state.
	Crashes int

	pid, restarts, starts int
	invocation            string
	started, changed      int64
}

// NewSystemd returns a systemd with units by name.
func NewSystemd(units map[string]*FakeUnit) *Systemd {
	s := &Systemd{units: units, next: 100}
	for _, u := range units {
		if u.Type == "" {
			u.Type = "simple"
		}
		if u.Active == "" {
			u.Active = "inactive"
		}
		if u.Active == "active" {
			s.start(u)
		}
	}
	return s
}

// Add adds a unit, as a new file and daemon-reload do.
func (s *Systemd) Add(name string, u *FakeUnit) {
	s.mu.Lock()
	defer s.mu.Unlock()
	u.Type, u.Active = "simple", "inactive"
	s.units[name] = u
}

// Starts returns the number of starts of a unit.
func (s *Systemd) Starts(name string) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.units[name].starts
}

// Crash ends a unit's process and starts it again, as Restart=always does.
func (s *Systemd) Crash(name string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.start(s.units[name])
}

func monotonic() int64 {
	var ts unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_MONOTONIC, &ts); err != nil {
		panic(err)
	}
	return ts.Nano() / 1000
}

func (s *Systemd) start(u *FakeUnit) {
	s.next++
	u.starts++
	u.pid, u.invocation = s.next, fmt.Sprintf("invocation-%d", s.next)
	u.started = monotonic()
	u.changed = u.started
	u.Active = "active"
	if u.OnStart != nil {
		u.Active = u.OnStart(u.starts)
	}
}

// Exec answers systemctl and journalctl.
func (s *Systemd) Exec(_ context.Context, cmd engine.Command) (engine.CommandResult, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	argv := cmd.Argv
	if argv[0] == "journalctl" {
		return engine.CommandResult{Stdout: "line of the journal\n"}, nil
	}
	if argv[0] != "systemctl" {
		return engine.CommandResult{}, fmt.Errorf("no such program %q", argv[0])
	}
	args := argv[1:]
	for len(args) > 0 && strings.HasPrefix(args[0], "--") {
		args = args[1:]
	}
	if args[0] == "daemon-reload" {
		for _, u := range s.units {
			u.Reload = false
		}
		return engine.CommandResult{}, nil
	}
	name := args[len(args)-1]
	u, ok := s.units[name]
	if args[0] == "show" {
		return engine.CommandResult{Stdout: s.show(u)}, nil
	}
	if !ok {
		return engine.CommandResult{Exit: 5, Stderr: "Unit " + name + " not found.\n"}, nil
	}
	return s.verb(args[0], u), nil
}

func (s *Systemd) verb(verb string, u *FakeUnit) engine.CommandResult {
	switch verb {
	case "enable":
		u.Enabled = true
		if u.Links != "" {
			return engine.CommandResult{Stderr: u.Links}
		}
	case "disable":
		u.Enabled = false
	case "mask", "unmask":
		u.Masked = verb == "mask"
	case "stop":
		u.Active, u.pid, u.started = "inactive", 0, 0
	case "reload":
		u.changed = monotonic()
	case "reset-failed":
		u.Limited = false
	case "start", "restart":
		if u.Masked {
			return engine.CommandResult{Exit: 1, Stderr: "Unit is masked.\n"}
		}
		if u.Limited {
			return engine.CommandResult{Exit: 1, Stderr: "Start request repeated too quickly.\n"}
		}
		if verb == "start" && u.Begun {
			u.Begun, u.Active = false, "failed"
			return engine.CommandResult{Exit: 1, Stderr: "Job for the unit failed.\n"}
		}
		if verb == "restart" || u.Active != "active" {
			u.restarts = 0
			s.start(u)
		}
		if u.FailStart {
			return engine.CommandResult{Exit: 1, Stderr: "Job for the unit failed.\n"}
		}
	default:
		return engine.CommandResult{Exit: 1, Stderr: "Unknown command verb " + verb + "\n"}
	}
	return engine.CommandResult{}
}

func (s *Systemd) show(u *FakeUnit) string {
	if u == nil {
		return "LoadState=not-found\nActiveState=inactive\nSubState=dead\nUnitFileState=\nNeedDaemonReload=no\n"
	}
	result := "success"
	if u.Active == "failed" {
		result = "exit-code"
	}
	if u.Active == "active" && u.Crashes > 0 {
		u.Crashes--
		s.start(u)
		u.restarts++
	}
	state, word := "disabled", map[bool]string{true: "yes", false: "no"}
	if u.Enabled {
		state = "enabled"
	}
	load := "loaded"
	if u.Masked {
		load, state = "masked", "masked"
	}
	return fmt.Sprintf("LoadState=%s\nActiveState=%s\nSubState=%s\nUnitFileState=%s\nType=%s\nNeedDaemonReload=%s\nCanReload=%s\n"+
		"MainPID=%d\nNRestarts=%d\nInvocationID=%s\nResult=%s\nExecMainStartTimestampMonotonic=%d\nStateChangeTimestampMonotonic=%d\n",
		load, u.Active, cmp.Or(u.Sub, "x"), state, u.Type, word[u.Reload], word[u.CanReload], u.pid, u.restarts, u.invocation, result, u.started, u.changed)
}
