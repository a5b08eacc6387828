package packages

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"deployer/engine"
	"deployer/strictyaml"
	"deployer/tasks/tasktest"
)

var programs = []string{"/usr/bin/apt-get", "/usr/bin/dnf", "/usr/bin/zypper"}

// TestPackageIsIdempotentWithEachManager: the arguments have the same meaning with each
// package manager.
func TestPackageIsIdempotentWithEachManager(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		have, offered map[string]string
		module        *Package
		actions       []string
	}{
		"present": {
			map[string]string{"a": "1"}, map[string]string{"b": "1", "c": "1"},
			&Package{Name: strictyaml.Texts{"a", "b", "x|a", "c|d", "b"}}, []string{"b: install", "c: install"},
		},
		"absent": {
			map[string]string{"old": "1"}, nil,
			&Package{Name: strictyaml.Texts{"old", "never", "other|old"}, State: "absent"}, []string{"old: remove"},
		},
		"version": {
			map[string]string{"b": "3"}, map[string]string{"a": "1", "b": "3"},
			&Package{Name: strictyaml.Texts{"a=1", "b=2"}, AllowDowngrade: true}, []string{"a: install 1", "b: 3 -> 2"},
		},
		"virtual": {
			map[string]string{"postfix": "1"}, map[string]string{"b": "1"},
			&Package{Name: strictyaml.Texts{"mail-agent", "b"}}, []string{"b: install"},
		},
	}
	for name, tt := range tests {
		for _, program := range programs {
			d := &distribution{installed: clone(tt.have), offered: tt.offered, fresh: true, provides: map[string]string{"mail-agent": "postfix"}}
			change := tasktest.Converge(t, host(t, program, d), tt.module)
			got := tasktest.Actions(change)
			for i := range got {
				got[i] = strings.ReplaceAll(got[i], "-1.el9", "") // rpm shows the release
			}
			if diff := cmp.Diff(tt.actions, got); diff != "" {
				t.Error(name, program, diff)
			}
		}
	}
}

func clone(m map[string]string) map[string]string {
	out := map[string]string{}
	for k, v := range m {
		out[k] = v
	}
	return out
}

func TestLatest(t *testing.T) {
	t.Parallel()
	for _, program := range programs {
		d := &distribution{installed: map[string]string{"a": "1", "b": "1", "c": "2"}, offered: map[string]string{"a": "2", "b": "2", "c": "2", "new": "2"}, fresh: true}
		sys := host(t, program, d)
		change := tasktest.Converge(t, sys, &Package{Name: strictyaml.Texts{"a", "c", "new"}, State: "latest"})
		if got := targets(change.CheckState.([]job)); !slices.Equal(got, []string{"a", "new"}) || d.installed["a"] != "2" || d.installed["b"] != "1" {
			t.Errorf("%s: upgraded %v, have %v", program, got, d.installed)
		}
		change = tasktest.Check(t, sys, &Package{Name: strictyaml.Texts{"*"}, State: "latest"})
		if len(change.Effects) != 1 || change.Effects[0].Target != "b" || !strings.HasSuffix(change.Effects[0].Action, " -> 2") {
			t.Errorf("%s: of all packages it upgrades %+v", program, change.Effects)
		}
	}
}

func TestPackageFromAFileOnTheHost(t *testing.T) {
	t.Parallel()
	for _, program := range programs {
		version := "2"
		if program != "/usr/bin/apt-get" {
			version = "2-1.el9"
		}
		d := &distribution{installed: map[string]string{"tool": "1"}, files: map[string]string{"/root/tool.pkg": "tool " + version}}
		sys := host(t, program, d)
		m := &Package{Name: strictyaml.Texts{"/root/tool.pkg"}}
		if change := tasktest.Check(t, sys, m); len(change.Effects) != 1 || change.Effects[0].Target != "tool.pkg" {
			t.Errorf("%s: of a file that is not there yet: %+v", program, change.Effects)
		}
		sys.Write(t, "/root/tool.pkg", "", 0o644)
		d.files["/root/tool.pkg"] = "tool 2"
		if program != "/usr/bin/apt-get" {
			d.files["/root/tool.pkg"] = "tool 2-1.el9"
			change := tasktest.Check(t, sys, m)
			if got := tasktest.Actions(change); !slices.Equal(got, []string{"tool: 1-1.el9 -> 2-1.el9"}) {
				t.Errorf("%s: %v", program, got)
			}
			continue
		}
		tasktest.Converge(t, sys, m)
	}
}

// TestOptions checks the options of each package manager.
func TestOptions(t *testing.T) {
	t.Parallel()
	yes := Package{InstallRecommends: true, AllowDowngrade: true, Purge: true, Autoremove: true}
	for _, tt := range []struct {
		program   string
		arguments Package
		want      []string
	}{
		{"/usr/bin/apt-get", Package{}, []string{"install -o APT::Install-Recommends=false a", "--force-confold"}},
		{"/usr/bin/apt-get", yes, []string{"install -o APT::Install-Recommends=true --allow-downgrades a", "remove --purge --auto-remove old"}},
		{"/usr/bin/dnf", Package{}, []string{"-y --quiet --setopt=install_weak_deps=false --setopt=clean_requirements_on_remove=false install a"}},
		{"/usr/bin/dnf", yes, []string{"install_weak_deps=true", "clean_requirements_on_remove=true remove old"}},
		{"/usr/bin/zypper", Package{}, []string{"--non-interactive --quiet install --auto-agree-with-licenses --no-recommends a"}},
		{"/usr/bin/zypper", yes, []string{"--recommends --oldpackage a", "remove --clean-deps old"}},
	} {
		sys := host(t, tt.program, &distribution{installed: map[string]string{"old": "1"}, offered: map[string]string{"a": "1"}, fresh: true})
		install, remove := tt.arguments, tt.arguments
		install.Name, remove.Name, remove.State = strictyaml.Texts{"a"}, strictyaml.Texts{"old"}, "absent"
		tasktest.Converge(t, sys, &install)
		tasktest.Converge(t, sys, &remove)
		ran := strings.Join(sys.Ran(), "\n")
		for _, want := range tt.want {
			if !strings.Contains(ran, want) {
				t.Errorf("%s: want %q in\n%s", tt.program, want, ran)
			}
		}
	}
}

func TestStaleListsAreUpdatedBeforeInstall(t *testing.T) {
	t.Parallel()
	d := &distribution{offered: map[string]string{"a": "1"}}
	tasktest.Converge(t, host(t, "/usr/bin/apt-get", d), &Package{Name: strictyaml.Texts{"a"}})
	if d.refreshed != 1 {
		t.Errorf("the lists were read %d times, want once", d.refreshed)
	}
}

// TestUpdateCache: lists are updated when their age is unknown and after a change of a
// package source, and not while they are recent.
func TestUpdateCache(t *testing.T) {
	t.Parallel()
	for _, program := range programs {
		d := &distribution{installed: map[string]string{"a": "1"}}
		sys := host(t, program, d)
		look := func(m Package) int {
			m.Name, m.UpdateCache = strictyaml.Texts{"a"}, true
			d.fresh, d.refreshed = false, 0
			tasktest.Check(t, sys, &m)
			return d.refreshed
		}
		if n := look(Package{}); n != 1 {
			t.Errorf("%s: at first: read %d times", program, n)
		}
		if n := look(Package{}); n != 0 {
			t.Errorf("%s: right after: read %d times", program, n)
		}
		if n := look(Package{CacheValidTime: time.Nanosecond}); n != 1 {
			t.Errorf("%s: when they are too old: read %d times", program, n)
		}
		time.Sleep(20 * time.Millisecond) // times of files are coarse
		for _, m := range []manager{apt{}, dnf{}, zypper{}} {
			sys.Write(t, m.sources()[len(m.sources())-1]+"/new.source", "", 0o644)
		}
		if n := look(Package{}); n != 1 {
			t.Errorf("%s: with a new source: read %d times", program, n)
		}
		// The update without a package is the first task of many roles.
		d.refreshed = 0
		if tasktest.Check(t, sys, &Package{UpdateCache: true, CacheValidTime: time.Nanosecond}).Needed || d.refreshed != 1 {
			t.Errorf("%s: the lists alone: read %d times, or something to change", program, d.refreshed)
		}
	}
}

func TestWaitsForAnotherPackageManager(t *testing.T) {
	t.Parallel()
	const locked = "E: Could not get lock /var/lib/dpkg/lock-frontend. It is held by process 77 (unattended-upgr)\nE: more\n"
	d := &distribution{offered: map[string]string{"a": "1"}, fresh: true, fail: []string{locked, locked}}
	sys := host(t, "/usr/bin/apt-get", d)
	tasktest.Converge(t, sys, &Package{Name: strictyaml.Texts{"a"}, LockTimeout: 500 * time.Millisecond})
	d.fail = slices.Repeat([]string{locked}, 100)
	delete(d.installed, "a")
	_, _, err := tasktest.Run(t, sys, &Package{Name: strictyaml.Texts{"a"}, LockTimeout: 30 * time.Millisecond})
	if err == nil || !strings.Contains(err.Error(), "at work for 30ms: Could not get lock /var/lib/dpkg/lock-frontend. It is held by process 77 (unattended-upgr)") {
		t.Errorf("error %v", err)
	}
}

func TestFinishesAnInterruptedInstallation(t *testing.T) {
	t.Parallel()
	d := &distribution{offered: map[string]string{"a": "1"}, fresh: true,
		fail: []string{"E: dpkg was interrupted, you must manually run 'dpkg --configure -a' to correct the problem.\n"}}
	sys := host(t, "/usr/bin/apt-get", d)
	tasktest.Converge(t, sys, &Package{Name: strictyaml.Texts{"a"}})
	if !slices.Contains(sys.Ran(), "dpkg --force-confdef --force-confold --configure -a") {
		t.Error("dpkg was not told to finish")
	}
}

func TestPackageWithoutSourceFails(t *testing.T) {
	t.Parallel()
	offline := "E: Failed to fetch http://deb.example/x  Temporary failure resolving 'deb.example'\n"
	for name, d := range map[string]*distribution{"offline": {fail: []string{offline, offline}}, "not offered": {}} {
		sys := host(t, "/usr/bin/apt-get", d)
		_, _, err := tasktest.Run(t, sys, &Package{Name: strictyaml.Texts{"conntrack"}})
		failure, ok := errors.AsType[*engine.Failure](err)
		if !ok || name == "not offered" && !strings.Contains(failure.Message, "no package source of this host offers conntrack") || failure.Detail == "" {
			t.Errorf("%s: error %v", name, err)
		}
	}
}

func TestEmptyListNeedsNoPackageManager(t *testing.T) {
	t.Parallel()
	if tasktest.Check(t, tasktest.New(t), &Package{Name: strictyaml.Texts{}}).Needed {
		t.Error("an empty list needs a change")
	}
	if _, err := (&Package{}).Check(t.Context(), tasktest.New(t)); err == nil || !strings.Contains(err.Error(), "name is missing") {
		t.Errorf("no name: %v", err)
	}
}

func TestErrors(t *testing.T) {
	t.Parallel()
	sys := tasktest.New(t)
	for want, p := range map[string]*Package{
		"has none of apt-get, dnf and zypper": {Name: strictyaml.Texts{"a"}},
		"is not the name of a package":        {Name: strictyaml.Texts{"--purge"}},
		"is not a version of a package":       {Name: strictyaml.Texts{"a=1 b"}},
		"is for state latest":                 {Name: strictyaml.Texts{"*"}},
		"leave the others out":                {Name: strictyaml.Texts{"*", "a"}, State: "latest"},
		"and state latest another one":        {Name: strictyaml.Texts{"a=1"}, State: "latest"},
	} {
		if _, _, err := tasktest.Run(t, sys, p); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want %q", err, want)
		}
	}
}
