package timer

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"deployer/engine"
	"deployer/strictyaml"
	"deployer/tasks/hostcmd"
	"deployer/tasks/tasktest"
)

func host(t *testing.T, units map[string]*tasktest.FakeUnit) (*tasktest.System, *tasktest.Systemd) {
	t.Helper()
	sys, systemd := tasktest.New(t), tasktest.NewSystemd(units)
	sys.Mkdir(t, "/etc/systemd/system")
	sys.Exec = func(ctx context.Context, cmd engine.Command) (engine.CommandResult, error) {
		if cmd.Argv[0] == "systemd-analyze" {
			if cmd.Argv[len(cmd.Argv)-1] == "sometimes" {
				return engine.CommandResult{Exit: 1, Stderr: "Failed to parse calendar specification 'sometimes': Invalid argument\n"}, nil
			}
			return engine.CommandResult{}, nil
		}
		return systemd.Exec(ctx, cmd)
	}
	return sys, systemd
}

func TestUnitTexts(t *testing.T) {
	t.Parallel()
	timer := &Timer{
		Name: "tidy", Description: "100% tidy", Command: hostcmd.Words{"/usr/bin/find", "/srv/a b", "-name", `"$x"`, "-mtime", "+3", ";"},
		OnCalendar: strictyaml.Texts{"daily", "Mon 12:00"}, Every: 90 * time.Minute, RandomizedDelay: 500 * time.Millisecond, Persistent: true,
		User: "app", WorkingDirectory: "/srv", Environment: map[string]string{"B": "2", "A": "one two"}, Service: map[string]string{"MemoryMax": "1G"},
	}
	service := `# Written by deployer.
[Unit]
Description=100%% tidy

[Service]
Type=oneshot
ExecStart=/usr/bin/find "/srv/a b" -name "\"$$x\"" -mtime +3 ";"
User=app
WorkingDirectory=/srv
Environment="A=one two"
Environment=B=2
MemoryMax=1G
`
	when := `# Written by deployer.
[Unit]
Description=When to run: 100%% tidy

[Timer]
OnCalendar=daily
OnCalendar=Mon 12:00
OnUnitActiveSec=5400s
OnBootSec=5400s
RandomizedDelaySec=0.5s
Persistent=true

[Install]
WantedBy=timers.target
`
	if diff := cmp.Diff(service, timer.service()); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff(when, timer.timer()); diff != "" {
		t.Error(diff)
	}
}

func TestTimerIsIdempotent(t *testing.T) {
	t.Parallel()
	sys, systemd := host(t, map[string]*tasktest.FakeUnit{"tidy.service": {Type: "oneshot"}, "tidy.timer": {}})
	m := &Timer{Name: "tidy", Command: hostcmd.Words{"/bin/true"}, OnCalendar: strictyaml.Texts{"daily"}}
	want := []string{"/etc/systemd/system/tidy.service: create", "/etc/systemd/system/tidy.timer: create", "tidy.timer: enable", "tidy.timer: start"}
	if diff := cmp.Diff(want, tasktest.Actions(tasktest.Converge(t, sys, m))); diff != "" {
		t.Error(diff)
	}
	if systemd.Starts("tidy.service") != 0 || systemd.Starts("tidy.timer") != 1 {
		t.Error("the timer, and not its service, is what is started")
	}
	m.OnCalendar = strictyaml.Texts{"weekly"}
	want = []string{"/etc/systemd/system/tidy.timer: replace", "tidy.timer: restart: its file changes"}
	if diff := cmp.Diff(want, tasktest.Actions(tasktest.Converge(t, sys, m))); diff != "" {
		t.Error(diff)
	}
	want = []string{"tidy.timer: disable", "tidy.timer: stop", "/etc/systemd/system/tidy.timer: remove", "/etc/systemd/system/tidy.service: remove"}
	if diff := cmp.Diff(want, tasktest.Actions(tasktest.Converge(t, sys, &Timer{Name: "tidy", State: "absent"}))); diff != "" {
		t.Error(diff)
	}
}

func TestErrors(t *testing.T) {
	t.Parallel()
	daily, command := strictyaml.Texts{"daily"}, hostcmd.Words{"/bin/true"}
	for want, m := range map[string]*Timer{
		"is not the name of a unit":                 {Name: "a.timer"},
		"absolute path of a program":                {Name: "a", Command: hostcmd.Words{"true"}, OnCalendar: daily},
		"on_calendar, on_boot or every is required": {Name: "a", Command: command},
		"has more than one line":                    {Name: "a", Command: command, OnCalendar: daily, Service: map[string]string{"User": "a\nExecStart=/x"}},
		"Failed to parse calendar speci":            {Name: "a", Command: command, OnCalendar: strictyaml.Texts{"sometimes"}},
	} {
		sys, _ := host(t, map[string]*tasktest.FakeUnit{})
		if _, _, err := tasktest.Run(t, sys, m); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want %q", err, want)
		}
	}
}
