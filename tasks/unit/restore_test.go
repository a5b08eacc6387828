package unit

import (
	"context"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"deployer/engine"
	"deployer/tasks/tasktest"
)

func TestVerbsBetweenUnitFileStates(t *testing.T) {
	t.Parallel()
	tests := []struct{ from, to, verbs string }{
		{"enabled", "enabled", ""},
		{"enabled", "disabled", "disable"},
		{"enabled", "", "disable"}, // the unit did not exist
		{"disabled", "", ""},
		{"disabled", "enabled", "enable"},
		{"", "enabled", "enable"},
		{"masked", "enabled", "unmask enable"},
		{"masked", "disabled", "unmask"},
		{"enabled", "masked", "disable mask"},
		{"disabled", "masked", "mask"},
		{"static", "enabled", "enable"},
		{"enabled", "static", "disable"},
	}
	for _, tt := range tests {
		got := strings.Join(unitFileActions(engine.State{keyEnabled: tt.from}, engine.State{keyEnabled: tt.to}), " ")
		if got != tt.verbs {
			t.Errorf("%s -> %s: %q, want %q", tt.from, tt.to, got, tt.verbs)
		}
	}
}

// TestRestorer: restoring the backup of a unit brings back the state before the change.
func TestRestorer(t *testing.T) {
	t.Parallel()
	off := false
	tests := map[string]struct {
		have tasktest.FakeUnit
		want Unit
		kept string
		late bool
	}{
		"was off":         {want: Unit{Enabled: &on, State: "started"}, kept: "unit x.service: active=no enabled=disabled"},
		"was on":          {have: tasktest.FakeUnit{Active: "active", Enabled: true}, want: Unit{Enabled: &off, State: "stopped"}, kept: "unit x.service: active=yes enabled=enabled", late: true},
		"was restarted":   {have: tasktest.FakeUnit{Active: "active"}, want: Unit{State: "restarted"}, kept: "unit x.service: active=yes enabled=disabled", late: true},
		"failed to start": {have: tasktest.FakeUnit{Active: "failed"}, want: Unit{State: "started"}, kept: "unit x.service: active=no enabled=disabled"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			sys, _ := host(t, map[string]*tasktest.FakeUnit{"x.service": &tt.have})
			ctx := context.Background()
			look := func() engine.State {
				s, err := Restorer.Read(ctx, sys, "x.service")
				if err != nil {
					t.Fatal(err)
				}
				return s
			}
			before := look()
			tt.want.Name, tt.want.StableFor = "x.service", quick()
			if _, _, err := tasktest.Run(t, sys, &tt.want); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff([]string{tt.kept}, sys.States()); diff != "" {
				t.Error(diff)
			}
			if err := Restorer.Restore(ctx, sys, "x.service", look(), before); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(before, look()); diff != "" {
				t.Error(diff)
			}
			if Restorer.NeedsFilesFirst(before) != tt.late {
				t.Errorf("late: want %t", tt.late)
			}
			if Restorer.Stopped(before) == tt.late {
				t.Errorf("stopped: want %t", !tt.late)
			}
		})
	}
}

func TestIdleStates(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		enabled, active string
		want            bool
	}{
		{"", "", true}, {"disabled", "no", true}, {"static", "no", true}, {"enabled", "no", false}, {"disabled", "yes", false}, {"masked", "no", false},
	} {
		if got := idle(engine.State{keyEnabled: tt.enabled, keyActive: tt.active}); got != tt.want {
			t.Errorf("%s, %s: %t", tt.enabled, tt.active, got)
		}
	}
}

func TestRestoreOfANewUnit(t *testing.T) {
	t.Parallel()
	sys, systemd := host(t, map[string]*tasktest.FakeUnit{})
	ctx := context.Background()
	none, err := Restorer.Read(ctx, sys, "x.service")
	if err != nil || len(none) > 0 {
		t.Fatalf("%v, %v", none, err)
	}
	systemd.Add("x.service", &tasktest.FakeUnit{})
	if _, _, err := tasktest.Run(t, sys, &Unit{Name: "x.service", Content: "[Service]\n", Enabled: &on, State: "started", StableFor: quick()}); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"/etc/systemd/system/x.service"}, slices.Compact(sys.Kept())); diff != "" {
		t.Error(diff)
	}
	now, err := Restorer.Read(ctx, sys, "x.service")
	if err != nil {
		t.Fatal(err)
	}
	sys.Ran()
	if err := Restorer.Restore(ctx, sys, "x.service", now, none); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"systemctl stop x.service", "systemctl disable x.service"}, sys.Ran()); diff != "" {
		t.Error(diff)
	}
}

// TestGateAfterARevert: a running unit is restarted when its restored files are newer, a
// stopped unit stays stopped, and a failed unit is started with its restored files.
func TestGateAfterARevert(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		have    tasktest.FakeUnit
		of      Unit
		actions []string
	}{
		"runs":                      {have: tasktest.FakeUnit{Active: "active"}, of: Unit{State: "started", Enabled: &on, RestartIfOlderThan: []string{"/etc/x.conf"}}, actions: []string{"x.service: restart: it started before /etc/x.conf changed"}},
		"runs, own content":         {have: tasktest.FakeUnit{Active: "active"}, of: Unit{State: "started", Content: "new"}, actions: []string{"x.service: restart: it started before /etc/systemd/system/x.service changed"}},
		"stopped":                   {of: Unit{State: "started", RestartIfOlderThan: []string{"/etc/x.conf"}}},
		"failed":                    {have: tasktest.FakeUnit{Active: "failed"}, of: Unit{State: "started"}, actions: []string{"x.service: start"}},
		"handler":                   {have: tasktest.FakeUnit{Active: "active"}, of: Unit{State: "restarted"}, actions: []string{"x.service: restart"}},
		"handler of a stopped unit": {of: Unit{State: "restarted"}},
	}
	for name, tt := range tests {
		sys, _ := host(t, map[string]*tasktest.FakeUnit{"x.service": &tt.have})
		sys.Write(t, "/etc/x.conf", "restored", 0o644)
		sys.Write(t, "/etc/systemd/system/x.service", "restored", 0o644)
		tt.of.Name = "x.service"
		gate := tt.of.Gate().(*Unit)
		if diff := cmp.Diff(tt.actions, tasktest.Actions(tasktest.Check(t, sys, gate))); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
	for _, u := range []Unit{{State: "stopped"}, {Enabled: &on}} {
		if gate := u.Gate(); gate != nil {
			t.Errorf("%+v has the gate %+v", u, gate)
		}
	}
	gone, _ := host(t, map[string]*tasktest.FakeUnit{})
	if change := tasktest.Check(t, gone, (&Unit{Name: "x.service", State: "started"}).Gate().(*Unit)); change.Needed {
		t.Errorf("a unit that is gone: %+v", change.Effects)
	}
}
