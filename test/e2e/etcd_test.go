//go:build lab

package e2e

import (
	"path/filepath"
	"strings"
	"testing"
)

// restored backs etcd up, writes, and restores the backup: objects from before the
// backup exist, and those from after it do not.
func restored(t *testing.T, s *site, host string) {
	dir := t.TempDir()
	s.Kubectl(host, "create configmap before-the-backup")
	s.Must("etcd", "backup", "--to", dir)
	s.Kubectl(host, "create configmap after-the-backup")
	s.RequireTexts(s.Must("etcd", "status").Stdout, host, "leader")
	files, err := filepath.Glob(filepath.Join(dir, "*.db"))
	if err != nil || len(files) != 1 {
		t.Fatalf("copies of the snapshot: %v, %v; want one", files, err)
	}
	o := s.Deployer("etcd", "restore", files[0], "--yes", "--cluster", "another")
	s.RequireExit(o, 4)
	s.Must("etcd", "restore", files[0], "--yes", "--cluster", "lab")
	maps := s.Kubectl(host, "get configmaps -o name")
	if !strings.Contains(maps, "before-the-backup") || strings.Contains(maps, "after-the-backup") {
		t.Errorf("after the restore there are %s", maps)
	}
	s.Kubectl(host, "delete configmap before-the-backup")
	if kept := s.Shell(host, "ls -d /var/lib/etcd/before-*/member"); kept == "" {
		t.Error("the former data of etcd is gone")
	}
	if _, r := s.Events(s.Must("install", "--output", "json")); r.Changed() != 0 {
		t.Errorf("install after a restore: %d changed, want 0", r.Changed())
	}
}
