package unit

import (
	"context"
	"errors"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"deployer/engine"
	"deployer/tasks/tasktest"
)

var on = true

func quick() *time.Duration {
	d := time.Duration(0)
	return &d
}

func host(t *testing.T, units map[string]*tasktest.FakeUnit) (*tasktest.System, *tasktest.Systemd) {
	t.Helper()
	sys := tasktest.New(t)
	systemd := tasktest.NewSystemd(units)
	sys.Exec = systemd.Exec
	sys.Mkdir(t, "/etc/systemd/system")
	return sys, systemd
}

func TestUnitIsIdempotent(t *testing.T) {
	t.Parallel()
	off := false
	tests := map[string]struct {
		have    tasktest.FakeUnit
		want    Unit
		actions []string
	}{
		"enable and start": {
			want:    Unit{Enabled: &on, State: "started"},
			actions: []string{"x.service: enable", "x.service: start"},
		},
		"stop and disable": {
			have:    tasktest.FakeUnit{Active: "active", Enabled: true},
			want:    Unit{Enabled: &off, State: "stopped"},
			actions: []string{"x.service: disable", "x.service: stop"},
		},
		"unit file newer than the loaded one": {
			have:    tasktest.FakeUnit{Active: "active", Reload: true},
			want:    Unit{State: "started"},
			actions: []string{"x.service: read its file again (daemon-reload)"},
		},
		"masked": {
			have:    tasktest.FakeUnit{Active: "active", Enabled: true},
			want:    Unit{Enabled: &off, State: "stopped", Masked: &on},
			actions: []string{"x.service: disable", "x.service: stop", "x.service: mask"},
		},
		"unmasked": {
			have:    tasktest.FakeUnit{Masked: true},
			want:    Unit{Enabled: &on, State: "started", Masked: &off},
			actions: []string{"x.service: unmask", "x.service: enable", "x.service: start"},
		},
		"not masked": {
			want:    Unit{State: "started", Masked: &off},
			actions: []string{"x.service: start"},
		},
		"own content": {
			want:    Unit{Content: "[Service]\n", State: "started"},
			actions: []string{"/etc/systemd/system/x.service: create", "x.service: start"},
		},
		"new content of a running unit": {
			have:    tasktest.FakeUnit{Active: "active"},
			want:    Unit{Content: "[Service]\n", State: "started"},
			actions: []string{"/etc/systemd/system/x.service: create", "x.service: restart: its file changes"},
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			sys, _ := host(t, map[string]*tasktest.FakeUnit{"x.service": &tt.have})
			tt.want.Name, tt.want.StableFor = "x.service", quick()
			change := tasktest.Converge(t, sys, &tt.want)
			if diff := cmp.Diff(tt.actions, tasktest.Actions(change)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestNames(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]string{
		"nginx": "nginx.service", "nginx.service": "nginx.service", "logrotate.timer": "logrotate.timer",
		"getty@tty1": "getty@tty1.service", "org.cups.cupsd": "org.cups.cupsd.service",
	} {
		if got := (&Unit{Name: name}).named().Name; got != want {
			t.Errorf("%s is %s, want %s", name, got, want)
		}
	}
	sys, systemd := host(t, map[string]*tasktest.FakeUnit{"x.service": {}})
	tasktest.Converge(t, sys, &Unit{Name: "x", State: "started", StableFor: quick(), DaemonReload: true})
	if n := systemd.Starts("x.service"); n != 1 {
		t.Errorf("%d starts", n)
	}
}

// TestDaemonReloadIsNoChange: unit files are read again, and the step reports no change.
func TestDaemonReloadIsNoChange(t *testing.T) {
	t.Parallel()
	sys, _ := host(t, map[string]*tasktest.FakeUnit{})
	change := tasktest.Check(t, sys, &Unit{DaemonReload: true})
	if !change.Needed || !change.Wait {
		t.Errorf("%+v", change)
	}
	if _, err := (&Unit{DaemonReload: true}).Apply(t.Context(), sys, change); err != nil || !slices.Contains(sys.Ran(), "systemctl daemon-reload") {
		t.Errorf("%v, ran %v", err, sys.Ran())
	}
	if _, err := (&Unit{DaemonReload: true, State: "started"}).Check(t.Context(), sys); err == nil {
		t.Error("accepted a state without a unit")
	}
}

// TestMissedRestartOfAKilledRunIsRepeated tests restart_if_older_than: the next run
// restarts the unit when a run was killed between a change and its restart.
func TestMissedRestartOfAKilledRunIsRepeated(t *testing.T) {
	t.Parallel()
	sys, systemd := host(t, map[string]*tasktest.FakeUnit{"x.service": {Active: "active"}})
	u := &Unit{Name: "x.service", State: "started", StableFor: quick(), RestartIfOlderThan: []string{"/etc/x.conf", "/etc/not-there"}}
	if tasktest.Check(t, sys, u).Needed {
		t.Fatal("a restart is wanted for files that do not exist")
	}
	sys.Write(t, "/etc/x.conf", "new", 0o644) // and here the run was killed
	change := tasktest.Converge(t, sys, u)
	if diff := cmp.Diff([]string{"x.service: restart: it started before /etc/x.conf changed"}, tasktest.Actions(change)); diff != "" {
		t.Error(diff)
	}
	if change.Effects[0].Kind != engine.EffectRestart {
		t.Errorf("kind %s, want a restart", change.Effects[0].Kind)
	}
	if got := systemd.Starts("x.service"); got != 2 {
		t.Errorf("%d starts, want 2", got)
	}
	sys.Write(t, "/etc/x.conf", "newer", 0o644)
	tasktest.Converge(t, sys, u)
}

func TestRestartByReceiptAfterAClockChange(t *testing.T) {
	t.Parallel()
	sys, systemd := host(t, map[string]*tasktest.FakeUnit{"x.service": {}})
	sys.Write(t, "/etc/x.conf", "a", 0o644)
	future := time.Now().Add(time.Hour)
	if err := os.Chtimes(sys.Path("/etc/x.conf"), future, future); err != nil {
		t.Fatal(err)
	}
	u := &Unit{Name: "x.service", State: "started", StableFor: quick(), RestartIfOlderThan: []string{"/etc/x.conf"}}
	tasktest.Converge(t, sys, u) // not restarted for ever, though the file is from the future

	past := time.Now().Add(-time.Hour)
	sys.Write(t, "/etc/x.conf", "b", 0o644)
	if err := os.Chtimes(sys.Path("/etc/x.conf"), past, past); err != nil {
		t.Fatal(err)
	}
	tasktest.Converge(t, sys, u) // restarted, though the file looks old

	systemd.Crash("x.service") // a new process has read what is there
	if change := tasktest.Check(t, sys, u); change.Needed {
		t.Errorf("after a crash: %+v, want nothing", change.Effects)
	}
}

// dryRunHost is a host in a dry run in which earlier steps would change some paths.
type dryRunHost struct {
	*tasktest.System
	paths []string
}

// WouldChange implements engine.DryRunView.
func (f dryRunHost) WouldChange(path string) bool { return slices.Contains(f.paths, path) }

// WouldCreate implements engine.DryRunView.
func (f dryRunHost) WouldCreate(dir string) bool { return slices.Contains(f.paths, dir) }

// TestDryRunShowsTheRestartOfAChangedFile: a dry run shows the restart after a file's
// change.
func TestDryRunShowsTheRestartOfAChangedFile(t *testing.T) {
	t.Parallel()
	sys, _ := host(t, map[string]*tasktest.FakeUnit{"x.service": {Active: "active"}})
	u := &Unit{Name: "x.service", State: "started", RestartIfOlderThan: []string{"/etc/x.conf"}}
	for path, want := range map[string][]string{
		"/etc/y.conf":                     nil,
		"/etc/x.conf":                     {"x.service: restart: it started before /etc/x.conf changed"},
		"/etc/systemd/system/x.service.d": {"x.service: read its file again (daemon-reload)"},
	} {
		change, err := u.Check(t.Context(), dryRunHost{sys, []string{path}})
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, tasktest.Actions(change)); diff != "" {
			t.Errorf("%s: %s", path, diff)
		}
	}
}

func TestReload(t *testing.T) {
	t.Parallel()
	sys, systemd := host(t, map[string]*tasktest.FakeUnit{"x.service": {Active: "active", CanReload: true}})
	u := &Unit{Name: "x.service", State: "started", StableFor: quick(), ReloadIfOlderThan: []string{"/etc/x.conf"}, RestartIfOlderThan: []string{"/bin/x"}}
	sys.Write(t, "/etc/x.conf", "new", 0o644)
	change := tasktest.Converge(t, sys, u)
	if diff := cmp.Diff([]string{"x.service: reload: it has not read /etc/x.conf since it changed"}, tasktest.Actions(change)); diff != "" {
		t.Error(diff)
	}
	if got := systemd.Starts("x.service"); got != 1 {
		t.Errorf("%d starts, want 1: a reload is enough", got)
	}
	sys.Write(t, "/bin/x", "program", 0o755)
	if diff := cmp.Diff([]string{"x.service: restart: it started before /bin/x changed"}, tasktest.Actions(tasktest.Converge(t, sys, u))); diff != "" {
		t.Error(diff)
	}
}

func TestRestartedAndReloadedActOnEveryRun(t *testing.T) {
	t.Parallel()
	for state, verb := range map[string]string{"restarted": "restart", "reloaded": "reload"} {
		sys, _ := host(t, map[string]*tasktest.FakeUnit{"x.service": {Active: "active", CanReload: true}})
		u := &Unit{Name: "x.service", State: state, StableFor: quick()}
		for range 2 {
			_, out, err := tasktest.Run(t, sys, u)
			if err != nil || out["did"] != verb {
				t.Errorf("%s: did %v, %v; want %s", state, out["did"], err, verb)
			}
		}
	}
}

// TestAttemptsOfSystemd checks a unit that failed and that systemd starts again by itself:
// while it waits, while an attempt is in progress that fails, and after too many of them.
func TestAttemptsOfSystemd(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		have tasktest.FakeUnit
		want string
	}{
		"waits":       {tasktest.FakeUnit{Active: "activating", Sub: "auto-restart", Begun: true}, "x.service: restart: it waits for its next attempt"},
		"too many":    {tasktest.FakeUnit{Active: "failed", Limited: true}, "x.service: start"},
		"in progress": {tasktest.FakeUnit{Active: "activating", Sub: "start-pre", Begun: true}, "x.service: start"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			sys, systemd := host(t, map[string]*tasktest.FakeUnit{"x.service": &tt.have})
			change := tasktest.Converge(t, sys, &Unit{Name: "x.service", State: "started", StableFor: quick()})
			if diff := cmp.Diff([]string{tt.want}, tasktest.Actions(change)); diff != "" {
				t.Error(diff)
			}
			if got := systemd.Starts("x.service"); got != 1 {
				t.Errorf("%d starts, want 1", got)
			}
		})
	}
}

func TestFailureMessages(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		have tasktest.FakeUnit
		want string
	}{
		"fails at once": {
			have: tasktest.FakeUnit{FailStart: true, OnStart: func(int) string { return "failed" }},
			want: "unit x.service did not start",
		},
		"fails later": {
			have: tasktest.FakeUnit{OnStart: func(int) string { return "failed" }},
			want: "unit x.service failed (exit-code)",
		},
		"ends": {
			have: tasktest.FakeUnit{OnStart: func(int) string { return "inactive" }},
			want: "ended right after its start",
		},
		"never up": {
			have: tasktest.FakeUnit{OnStart: func(int) string { return "activating" }},
			want: "is not up after 300ms",
		},
		"crashes again and again": {
			have: tasktest.FakeUnit{Crashes: 100},
			want: "ended 3 times after its start",
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			sys, _ := host(t, map[string]*tasktest.FakeUnit{"x.service": &tt.have})
			u := &Unit{Name: "x.service", State: "started"}
			if name == "never up" {
				u.Timeout = 300 * time.Millisecond
			}
			_, _, err := tasktest.Run(t, sys, u)
			failure, ok := errors.AsType[*engine.Failure](err)
			if !ok || !strings.Contains(failure.Message, tt.want) {
				t.Fatalf("error %v, want %q", err, tt.want)
			}
			if failure.Detail != "line of the journal" {
				t.Errorf("detail %q, want the journal", failure.Detail)
			}
		})
	}
}

func TestMaskedStaysMasked(t *testing.T) {
	t.Parallel()
	sys, _ := host(t, map[string]*tasktest.FakeUnit{"x.service": {Masked: true}})
	for want, u := range map[string]*Unit{
		"say masked: false":        {Name: "x", State: "started"},
		"masked forbids":           {Name: "x", State: "restarted", Masked: &on},
		"and not enabled: true":    {Name: "x", Enabled: &on, Masked: &on},
		"name is missing":          {State: "started"},
		"want started, stopped, r": {Name: "x", State: "running"},
	} {
		if _, _, err := tasktest.Run(t, sys, u); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want %q", err, want)
		}
	}
}

func TestUnknownUnit(t *testing.T) {
	t.Parallel()
	sys, _ := host(t, map[string]*tasktest.FakeUnit{})
	if change := tasktest.Check(t, sys, &Unit{Name: "x.service", State: "stopped"}); change.Needed {
		t.Errorf("stopping a missing unit: %+v", change.Effects)
	}
	change, _, err := tasktest.Run(t, sys, &Unit{Name: "x.service", State: "started"})
	if !change.Needed || err == nil || !strings.Contains(err.Error(), "systemd knows no unit x.service") {
		t.Errorf("needed %t, error %v", change.Needed, err)
	}
}

func TestNoBlockDoesNotWait(t *testing.T) {
	t.Parallel()
	sys, _ := host(t, map[string]*tasktest.FakeUnit{"x.service": {Type: "notify", OnStart: func(int) string { return "activating" }}})
	sys.Write(t, "/etc/x.conf", "a", 0o644)
	tasktest.Converge(t, sys, &Unit{Name: "x.service", State: "started", NoBlock: true, RestartIfOlderThan: []string{"/etc/x.conf"}})
}

// TestWatchRequiresOneProcessForTheWholePeriod evaluates statuses at given times.
func TestWatchRequiresOneProcessForTheWholePeriod(t *testing.T) {
	t.Parallel()
	began := time.Now()
	up := func(pid, restarts int) status {
		return status{Active: "active", Type: "simple", MainPID: pid, Restarts: restarts, Started: int64(pid), Invocation: "new"}
	}
	w := watch{before: status{Active: "active", MainPID: 1, Started: 1, Invocation: "old"}}
	for i, step := range []struct {
		now  status
		at   time.Duration
		done bool
	}{
		{status{Active: "active", Type: "simple", MainPID: 1, Started: 1, Invocation: "old"}, 0, false}, // still the old one
		{up(2, 0), time.Second, false},
		{up(2, 0), 1900 * time.Millisecond, false},
		{status{Active: "activating", Sub: "auto-restart"}, 2100 * time.Millisecond, false},
		{up(3, 1), 2200 * time.Millisecond, false},
		{up(3, 1), 3100 * time.Millisecond, false},
		{up(3, 1), 3200 * time.Millisecond, true},
	} {
		if done, wrong := w.observe(step.now, began.Add(step.at)); done != step.done || wrong != "" {
			t.Errorf("step %d: done %t, wrong %q; want %t", i, done, wrong, step.done)
		}
	}
}

func TestCheckRows(t *testing.T) {
	t.Parallel()
	sys, _ := host(t, map[string]*tasktest.FakeUnit{"up.service": {Active: "active"}, "down.service": {Active: "failed"}})
	change := tasktest.Check(t, sys, &Checks{Units: []string{"up.service", "down.service", "none.service"}})
	var got []string
	for _, row := range change.Output["checks"].([]any) {
		m := row.(map[string]any)
		if m["ok"] == true {
			got = append(got, m["check"].(string))
		}
	}
	if diff := cmp.Diff([]string{"unit up.service"}, got); diff != "" {
		t.Error(diff)
	}
	if n := len(change.Output["problems"].([]any)); n != 2 {
		t.Errorf("%d problems, want 2", n)
	}
}

// TestFirstDropInNeedsDaemonReload: systemd does not report an unread first drop-in of a
// unit.
func TestFirstDropInNeedsDaemonReload(t *testing.T) {
	t.Parallel()
	sys := tasktest.New(t)
	read := "/etc/systemd/system/x@one.service.d/10-a.conf"
	sys.Write(t, read, "", 0o644)
	for name, want := range map[string]bool{"/etc/systemd/system/x@one.service.d/notes.txt": false,
		"/run/systemd/system/x@one.service.d/10-a.conf": false, "/etc/systemd/system/y.service.d/b.conf": false,
		"/usr/lib/systemd/system/x@.service.d/20-b.conf": true} {
		sys.Write(t, name, "", 0o644)
		if got := unread(sys, "x@one.service", []string{read}); got != want {
			t.Errorf("with %s: %t", name, got)
		}
		if err := os.Remove(sys.Path(name)); err != nil {
			t.Fatal(err)
		}
	}
	if !unread(sys, "x@one.service", nil) {
		t.Error("a unit with an unread first drop-in needs no daemon-reload")
	}
}

// TestRestartIsTheSameForAnotherReason: a dry run names the first file that would change, the
// run after it the first that has changed; both plan the same restart.
func TestRestartIsTheSameForAnotherReason(t *testing.T) {
	t.Parallel()
	sys, _ := host(t, map[string]*tasktest.FakeUnit{"x.service": {Active: "active"}})
	u := &Unit{Name: "x.service", State: "started", RestartIfOlderThan: []string{"/etc/x.key", "/etc/x.conf"}}
	planned, err := u.Check(t.Context(), dryRunHost{sys, []string{"/etc/x.conf"}})
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range u.RestartIfOlderThan {
		sys.Write(t, path, "new", 0o644)
	}
	now := tasktest.Check(t, sys, u)
	if planned.Effects[0].Reason == now.Effects[0].Reason {
		t.Fatalf("both have the reason %q", now.Effects[0].Reason)
	}
	if err := (&engine.Expect{Effects: []string{planned.Effects[0].Fingerprint()}}).Allows(now); err != nil {
		t.Error(err)
	}
}

// TestRestartUnlessEffect: a unit that is up and has lost its effect is restarted; one that has
// it is not, and neither is the program run for a unit that does not run.
func TestRestartUnlessEffect(t *testing.T) {
	t.Parallel()
	sys, systemd := host(t, map[string]*tasktest.FakeUnit{"x.service": {}})
	loaded, asked := true, 0
	sys.Exec = func(ctx context.Context, cmd engine.Command) (engine.CommandResult, error) {
		if cmd.Argv[0] != "nft" {
			return systemd.Exec(ctx, cmd)
		}
		asked++
		if loaded {
			return engine.CommandResult{}, nil
		}
		return engine.CommandResult{Exit: 1, Stderr: "No such file or directory"}, nil
	}
	u := &Unit{Name: "x.service", State: "started", StableFor: quick(), RestartUnless: []string{"nft", "list", "table", "ip", "x"}}
	if got := tasktest.Actions(tasktest.Check(t, sys, u)); !slices.Equal(got, []string{"x.service: start"}) || asked > 0 {
		t.Errorf("stopped: %q, asked %d times", got, asked)
	}
	tasktest.Converge(t, sys, u)
	loaded = false
	change := tasktest.Check(t, sys, u)
	if got := tasktest.Actions(change); !slices.Equal(got, []string{"x.service: restart: it is up without its effect: nft list table ip x fails"}) {
		t.Fatalf("actions %q", got)
	}
	if _, err := u.Apply(t.Context(), sys, change); err != nil || systemd.Starts("x.service") != 2 {
		t.Errorf("%d starts, %v; want another one", systemd.Starts("x.service"), err)
	}
	if err := (&Unit{Name: "x.service", State: "stopped", RestartUnless: u.RestartUnless}).Valid(); err == nil {
		t.Error("a stopped unit may have an effect")
	}
}

// CheckOnly implements engine.DryRunView.
func (dryRunHost) CheckOnly() bool { return true }
