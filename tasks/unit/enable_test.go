package unit

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"deployer/tasks/tasktest"
)

// deferringHost is a host that defers work to the end of the segment.
type deferringHost struct {
	*tasktest.System
	kinds []string
}

func (p *deferringHost) Defer(kind string) error {
	p.kinds = append(p.kinds, kind)
	return nil
}

const forMultiUser = "Created symlink /etc/systemd/system/multi-user.target.wants/x.service → /etc/systemd/system/x.service.\n"

// TestDaemonReloadAfterEnableIsDeferred: systemd reads unit files again at the end of
// the segment, unless a later step may need it before.
func TestDaemonReloadAfterEnableIsDeferred(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		have tasktest.FakeUnit
		now  bool // systemd reads them at once
	}{
		"at boot":                 {have: tasktest.FakeUnit{Links: forMultiUser}},
		"wanted by another unit":  {have: tasktest.FakeUnit{Links: strings.Replace(forMultiUser, "multi-user.target", "y.service", 1)}, now: true},
		"also under another name": {have: tasktest.FakeUnit{Links: forMultiUser + "Created symlink /etc/systemd/system/alias.service → /x.\n"}, now: true},
		"no output":               {now: true},
		"runs":                    {have: tasktest.FakeUnit{Active: "active", Links: forMultiUser}, now: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			base, _ := host(t, map[string]*tasktest.FakeUnit{"x.service": &tt.have})
			sys := &deferringHost{System: base}
			u := &Unit{Name: "x.service", Enabled: &on, State: "started", StableFor: quick()}
			change, err := u.Check(t.Context(), sys)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := u.Apply(t.Context(), sys, change); err != nil {
				t.Fatal(err)
			}
			ran := base.Ran()
			byItself := slices.Contains(ran, "systemctl enable x.service") // which reads them
			later := slices.Contains(sys.kinds, Kind)
			if got := byItself || slices.Contains(ran, "systemctl daemon-reload"); got != tt.now || !byItself && !later {
				t.Errorf("read immediately: %t, deferred: %t; want immediately %t\n%s", got, later, tt.now, strings.Join(ran, "\n"))
			}
			if change, err := u.Check(t.Context(), sys); err != nil || change.Needed {
				t.Errorf("second check: %+v, %v", change, err)
			}
		})
	}
}

// TestDaemonReloadWithoutDeferrerIsImmediate: without a segment no work is deferred.
func TestDaemonReloadWithoutDeferrerIsImmediate(t *testing.T) {
	t.Parallel()
	sys, _ := host(t, map[string]*tasktest.FakeUnit{"x.service": {Links: forMultiUser}})
	tasktest.Converge(t, sys, &Unit{Name: "x.service", Enabled: &on})
	ran := slices.DeleteFunc(sys.Ran(), func(line string) bool { return strings.Contains(line, " show ") })
	if diff := cmp.Diff([]string{"systemctl enable x.service"}, ran); diff != "" {
		t.Error(diff)
	}
}

func TestEnableOutputOfBootTargets(t *testing.T) {
	t.Parallel()
	for said, want := range map[string]bool{
		"":           false,
		forMultiUser: true,
		"Created symlink '/etc/systemd/system/timers.target.wants/x.timer' → '/etc/systemd/system/x.timer'.\n":               true,
		"Created symlink from /etc/systemd/system/multi-user.target.wants/x.service to /etc/systemd/system/x.service.\n":     true,
		"Created symlink /etc/systemd/system/network-online.target.wants/x.service → /etc/systemd/system/x.service.\n":       false,
		"Synchronizing state of x.service with SysV service script with /lib/systemd/systemd-sysv-install.\n" + forMultiUser: true,
		"Executing: /lib/systemd/systemd-sysv-install enable x\n":                                                            false,
	} {
		if got := forBoot(said); got != want {
			t.Errorf("%q: %t", said, got)
		}
	}
}
