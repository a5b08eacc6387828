package purge

import (
	"context"
	"os"
	"testing"

	"github.com/google/go-cmp/cmp"

	"deployer/engine"
	"deployer/tasks/tasktest"
)

const ours = "# Written by deployer.\nx\n"

// TestPurgeRemovesOnlyMarkedFiles: listed files stay, files without the marker stay and
// are reported, and an empty directory is removed with its last file.
func TestPurgeRemovesOnlyMarkedFiles(t *testing.T) {
	t.Parallel()
	sys := tasktest.New(t)
	for path, content := range map[string]string{
		"/etc/certs.d/docker.io/hosts.toml": ours,
		"/etc/certs.d/quay.io/hosts.toml":   ours,
		"/etc/certs.d/quay.io/mine.pem":     "mine",
		"/etc/certs.d/gone.io/hosts.toml":   ours,
		"/etc/certs.d/mine.io/hosts.toml":   "server = \"https://mine.io\"\n",
		"/etc/certs.d/hosts.toml":           ours, // does not match the pattern
	} {
		sys.Write(t, path, content, 0o644)
	}
	if err := os.Symlink("docker.io", sys.Path("/etc/certs.d/link.io")); err != nil {
		t.Fatal(err)
	}
	p := &Purge{Path: "/etc/certs.d", Files: "*/hosts.toml", Keep: []string{"docker.io/hosts.toml", "link.io/hosts.toml"}}
	change := tasktest.Converge(t, sys, p)
	want := []string{
		"/etc/certs.d/gone.io/hosts.toml: remove: the inventory no longer asks for it",
		"/etc/certs.d/quay.io/hosts.toml: remove: the inventory no longer asks for it",
	}
	if diff := cmp.Diff(want, tasktest.Actions(change)); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]string{"/etc/certs.d/mine.io/hosts.toml"}, change.Output["others"]); diff != "" {
		t.Error(diff)
	}
	for path, want := range map[string]bool{
		"/etc/certs.d/docker.io/hosts.toml": true, "/etc/certs.d/quay.io/mine.pem": true, "/etc/certs.d/mine.io/hosts.toml": true,
		"/etc/certs.d/hosts.toml": true, "/etc/certs.d/gone.io": false, "/etc/certs.d/quay.io/hosts.toml": false,
	} {
		if _, err := os.Lstat(sys.Path(path)); (err == nil) != want {
			t.Errorf("%s is there: %t, want %t", path, err == nil, want)
		}
	}
}

// TestSecretFilesAreMarked checks that the effects of secret files say so, by which their
// backups expire.
func TestSecretFilesAreMarked(t *testing.T) {
	t.Parallel()
	sys := tasktest.New(t)
	sys.Write(t, "/etc/deployer/s3.conf", ours, 0o600)
	for _, secret := range []bool{true, false} {
		change := tasktest.Check(t, sys, &Purge{Path: "/etc/deployer", Files: "*", Secret: secret})
		if len(change.Effects) != 1 || change.Effects[0].Secret != secret {
			t.Errorf("secret %t: effects %+v", secret, change.Effects)
		}
	}
}

func TestMissingDirectoryIsNoChange(t *testing.T) {
	t.Parallel()
	if tasktest.Check(t, tasktest.New(t), &Purge{Path: "/etc/none", Files: "*"}).Needed {
		t.Error("something is to be done in a directory that is not there")
	}
}

// TestLinksAreNotRemoved: a link to a file with the marker is not a file of deployer.
func TestLinksAreNotRemoved(t *testing.T) {
	t.Parallel()
	sys := tasktest.New(t)
	sys.Write(t, "/srv/x", ours, 0o644)
	sys.Mkdir(t, "/etc/d")
	if err := os.Symlink(sys.Path("/srv/x"), sys.Path("/etc/d/x")); err != nil {
		t.Fatal(err)
	}
	if tasktest.Check(t, sys, &Purge{Path: "/etc/d", Files: "*"}).Needed {
		t.Error("a link counts as a file with the marker")
	}
}

func TestArguments(t *testing.T) {
	t.Parallel()
	for _, p := range []*Purge{{Path: "etc", Files: "*"}, {Path: "/etc/x", Files: "../*"}, {Path: "/etc/x", Files: "/*"}, {Path: "/etc/x", Files: "["}} {
		sys := tasktest.New(t)
		sys.Mkdir(t, "/etc/x")
		if _, err := p.Check(t.Context(), sys); err == nil {
			t.Errorf("%+v is taken", p)
		}
	}
}

// TestUnitIsStoppedBeforeItsFileIsRemoved: an unlisted unit with the marker is stopped,
// disabled and removed; a unit without the marker keeps running.
func TestUnitIsStoppedBeforeItsFileIsRemoved(t *testing.T) {
	t.Parallel()
	sys := tasktest.New(t)
	gone := &tasktest.FakeUnit{Active: "active", Enabled: true}
	mine := &tasktest.FakeUnit{Active: "active", Enabled: true}
	kept := &tasktest.FakeUnit{Active: "active", Enabled: true}
	sys.Exec = tasktest.NewSystemd(map[string]*tasktest.FakeUnit{"deployer-gone.service": gone, "deployer-mine.service": mine, "deployer-kept.service": kept}).Exec
	for name, content := range map[string]string{"gone": ours, "mine": "[Unit]\n", "kept": ours} {
		sys.Write(t, "/etc/systemd/system/deployer-"+name+".service", content, 0o644)
	}
	p := &Purge{Path: "/etc/systemd/system", Files: "deployer-*.service", Keep: []string{"deployer-kept.service"}, Units: true}
	change := tasktest.Converge(t, sys, p)
	want := []string{"deployer-gone.service: disable", "deployer-gone.service: stop",
		"/etc/systemd/system/deployer-gone.service: remove: the inventory no longer asks for it"}
	if diff := cmp.Diff(want, tasktest.Actions(change)); diff != "" {
		t.Error(diff)
	}
	if gone.Active == "active" || gone.Enabled {
		t.Errorf("the unit is %+v", gone)
	}
	for name, u := range map[string]*tasktest.FakeUnit{"mine": mine, "kept": kept} {
		if u.Active != "active" || !u.Enabled {
			t.Errorf("%s is %+v", name, u)
		}
	}
}

// TestBackups: a check finds the backups that the host has, and those that earlier steps of
// the check would make.
func TestBackups(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ has, would, want bool }{{false, false, false}, {true, false, true}, {false, true, true}} {
		sys := &leaving{System: tasktest.New(t), has: c.has, would: c.would}
		change, err := (&Backups{All: true}).Check(t.Context(), sys)
		if err != nil || change.Needed != c.want {
			t.Errorf("%+v: %+v, %v", c, change, err)
		}
		if _, err := (&Backups{All: true}).Apply(t.Context(), sys, change); err != nil || !sys.purged {
			t.Errorf("%+v: nothing is removed, %v", c, err)
		}
	}
}

// leaving is a host that has backups and leaves the cluster.
type leaving struct {
	*tasktest.System
	has, would, purged bool
}

func (l *leaving) WouldChange(string) bool            { return l.would }
func (l *leaving) CheckOnly() bool                    { return true }
func (l *leaving) WouldCreate(string) bool            { return false }
func (l *leaving) PurgeModule(all bool) engine.Module { return &agentPurge{l, all} }

// agentPurge is a fake of the agent's module.
type agentPurge struct {
	host *leaving
	all  bool
}

func (p *agentPurge) Check(context.Context, engine.System) (engine.Change, error) {
	return engine.Change{Needed: p.host.has, Effects: []engine.Effect{{Target: "backups of run r1"}}}, nil
}

func (p *agentPurge) Apply(context.Context, engine.System, engine.Change) (engine.Output, error) {
	p.host.purged = p.all
	return nil, nil
}
