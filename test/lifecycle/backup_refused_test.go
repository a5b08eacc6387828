//go:build lab

package lifecycle

import (
	"os"
	"path/filepath"
	"strings"
)

// damagedSnapshot restores a snapshot in which one bit differs: the restore is
// refused and changes nothing.
func (s *site) damagedSnapshot(file string) {
	s.T.Helper()
	content, err := os.ReadFile(file)
	if err != nil {
		s.T.Fatal(err)
	}
	content[len(content)/2] ^= 1
	damaged := filepath.Join(s.T.TempDir(), "damaged.db")
	if err := os.WriteFile(damaged, content, 0o600); err != nil {
		s.T.Fatal(err)
	}
	before := s.dataOfEtcd()
	o := s.Deployer("etcd", "restore", damaged, "--yes", "--cluster", "lab")
	s.RequireExit(o, 4)
	s.RequireTexts(o.All(), "is damaged", "nothing was changed")
	if after := s.dataOfEtcd(); after != before {
		s.T.Errorf("a damaged snapshot has changed the data directories:\n%s\nbefore:\n%s", after, before)
	}
}

// dataOfEtcd returns the content of the directories of etcd's data and of restores,
// on all masters.
func (s *site) dataOfEtcd() string {
	s.T.Helper()
	var out strings.Builder
	for _, m := range masters {
		out.WriteString(m + " " + s.Shell(m, "systemctl show etcd -p InvocationID; ls -A /var/lib/etcd; ls -A /var/lib/deployer/etcd-restore 2>/dev/null || true") + "\n")
	}
	return out.String()
}

// onSmallDisk mounts a disk of 16 MiB on a directory of hosts while f runs.
func (s *site) onSmallDisk(dir string, hosts []string, f func()) {
	s.T.Helper()
	for _, h := range hosts {
		s.Shell(h, "mkdir -p -m 0700 "+dir+" && mount -t tmpfs -o size=16m,mode=0700 tmpfs "+dir)
	}
	defer func() {
		for _, h := range hosts {
			s.Shell(h, "umount "+dir)
		}
	}()
	f()
}

// fullDisks: backups and restores are refused when a disk has no room, leave no file
// there, and the members serve during all of it.
func fullDisks(s *site) {
	file := s.backup()
	const snapshots, restores = "/var/lib/deployer/etcd-snapshots", "/var/lib/deployer/etcd-restore"
	s.onSmallDisk(snapshots, masters, func() {
		o := s.Deployer("etcd", "backup", "--host", "m2")
		if o.Code == 0 {
			s.T.Error("a backup without room for it succeeds")
		}
		s.RequireTexts(o.All(), "MiB free", "make room there")
		failed := ""
		for _, m := range masters {
			failed += s.Shell(m, "systemctl start deployer-etcd-backup; systemctl is-failed deployer-etcd-backup || true; systemctl reset-failed deployer-etcd-backup 2>/dev/null || true") + " "
			if left := s.Shell(m, "ls -A "+snapshots); left != "" {
				s.T.Errorf("on the small disk of %s there are %s", m, left)
			}
		}
		if strings.Count(failed, "failed") != 1 {
			s.T.Errorf("the units on small disks: %s, want one that has failed", failed)
		}
		s.RequireTexts(s.runbook("disk-full", ""), masters...)
		s.runbook("disk-full-room", "")
	})
	s.runbook("disk-full-serves", "")
	s.onSmallDisk(restores, []string{"m2"}, func() {
		o := s.Deployer("etcd", "restore", file, "--yes", "--cluster", "lab")
		if o.Code == 0 {
			s.T.Error("a restore without room for it succeeds")
		}
		s.RequireTexts(o.All(), "m2", "to spare do not fit")
		s.Kubectl("m1", "get --raw /readyz")
	})
	s.requireMembers(masters...)
	for _, m := range masters {
		if left := s.Shell(m, "find /var/lib/etcd -maxdepth 1 -name 'restor*'; find "+restores+" -name '*.db' 2>/dev/null || true"); left != "" {
			s.T.Errorf("a restore that was refused leaves on %s: %s", m, left)
		}
	}
	s.damagedSnapshot(file)
}
