package rejoin

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"deployer/cluster"
	"deployer/keeper/config"
	"deployer/keeper/world"
	"deployer/tasks/control/etcd"
	"deployer/tasks/tasktest"
)

func newRejoin(t *testing.T, files config.EtcdFiles) (*Rejoin, *tasktest.System) {
	t.Helper()
	sys := tasktest.New(t)
	return &Rejoin{Self: etcd.Host{Name: "m1", PeerURL: "https://10.0.0.1:2380"}, Files: files, System: sys}, sys
}

var (
	together = config.EtcdFiles{Dirs: []string{"/var/lib/etcd"}, WAL: "/var/lib/etcd/member/wal", Owner: "etcd"}
	apart    = config.EtcdFiles{Dirs: []string{"/var/lib/etcd", "/srv/log"}, WAL: "/srv/log/wal", Owner: "etcd"}
)

func TestLook(t *testing.T) {
	for name, c := range map[string]struct {
		files []string
		want  world.Member
	}{
		"nothing":                {nil, world.Member{}},
		"a member":               {[]string{"/etc/deployer/etcd-member", "/var/lib/etcd/member/wal/0.wal"}, world.Member{Served: true, Data: true}},
		"its data is gone":       {[]string{"/etc/deployer/etcd-member"}, world.Member{Served: true}},
		"an empty log":           {[]string{"/etc/deployer/etcd-member", "/var/lib/etcd/member/wal/0.tmp"}, world.Member{Served: true}},
		"it was added, and runs": {[]string{"/var/lib/etcd/member/wal/0.wal"}, world.Member{Data: true}},
	} {
		_, sys := newRejoin(t, together)
		for _, path := range c.files {
			sys.Write(t, path, "x", 0o600)
		}
		if got, err := Look(sys, together); err != nil || got != c.want {
			t.Errorf("%s: %+v, %v; want %+v", name, got, err, c.want)
		}
	}
}

// TestMoveAside: what is left of the data stays under another name, and a second time nothing is there to move.
func TestMoveAside(t *testing.T) {
	for name, files := range map[string]config.EtcdFiles{"together": together, "apart": apart} {
		r, sys := newRejoin(t, files)
		sys.Write(t, "/var/lib/etcd/member/snap/db", "data", 0o600)
		sys.Write(t, files.WAL+"/0.wal", "log", 0o600)
		for range 2 {
			if err := r.moveAside(); err != nil {
				t.Fatal(err)
			}
		}
		for _, dir := range files.Dirs {
			kept, _ := filepath.Glob(sys.Path(dir) + "/before-rejoin-*")
			if len(kept) != 1 {
				t.Errorf("%s: %s has %v", name, dir, kept)
			}
		}
		for _, path := range []string{"/var/lib/etcd/member", files.WAL} {
			if _, err := os.Lstat(sys.Path(path)); err == nil {
				t.Errorf("%s: %s is still there", name, path)
			}
		}
	}
	r, _ := newRejoin(t, apart)
	if err := r.moveAside(); err != nil {
		t.Errorf("without any directory: %v", err)
	}
}

// TestFirstStart: the unit may start etcd without data, as a member of those that are there.
func TestFirstStart(t *testing.T) {
	r, sys := newRejoin(t, together)
	sys.Write(t, servedFile, "x", 0o644)
	live := &cluster.EtcdLive{Members: []cluster.LiveMember{
		{ID: 1, Name: "m2", PeerURLs: []string{"https://10.0.0.2:2380"}, Started: true}, {ID: 2, PeerURLs: []string{"https://10.0.0.1:2380"}, Learner: true},
	}}
	if err := r.firstStart(live); err != nil {
		t.Fatal(err)
	}
	text := sys.Read(t, initialFile)
	if !strings.HasSuffix(text, "\nETCD_INITIAL_CLUSTER=m1=https://10.0.0.1:2380,m2=https://10.0.0.2:2380\nETCD_INITIAL_CLUSTER_STATE=existing\n") {
		t.Errorf("%s has\n%s", initialFile, text)
	}
	if _, err := os.Lstat(sys.Path(servedFile)); err == nil {
		t.Errorf("%s is still there", servedFile)
	}
}
