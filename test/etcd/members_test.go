//go:build lab

package etcd

import (
	"strings"
	"testing"

	"deployer/test/harness"
	"deployer/test/lab/plan"
)

// TestMembers changes the members of both etcd clusters: a master leaves and comes back, certificates
// and their authority are renewed, and the cluster is removed.
func TestMembers(t *testing.T) {
	s := &events{harness.New(t, "etcd", plan.Spec{Masters: 3, Minions: 1})}
	s.enable(true)
	s.Must("install")
	s.step("a master leaves", func() {
		s.Must("scale-down", "--yes", "--allow-masters", "m3")
		s.masters("m1", "m2")
		s.listed("m1", "m2")
		if left := s.Shell("m3", "ls -d /etc/systemd/system/etcd*.service /var/lib/etcd-events/member 2>/dev/null; pidof etcd || true"); left != "" {
			t.Errorf("m3 has\n%s", left)
		}
	})
	s.step("a master joins", func() {
		s.masters("m1", "m2", "m3")
		s.Must("scale-up")
		s.listed("m1", "m2", "m3")
		s.RequireTexts(s.Must("install").All(), "0 changed")
		s.apart()
	})
	s.step("the cluster's own etcd is repaired and restored beside events", func() {
		dir := t.TempDir()
		s.Must("etcd", "backup", "--to", dir)
		s.Kubectl("m1", "create namespace lost")
		s.Must("etcd", "replace", "m2", "--yes")
		s.Must("etcd", "restore", s.only(dir), "--yes", "--cluster", "lab")
		if found := s.Kubectl("m1", "get namespaces -o name"); strings.Contains(found, "lost") {
			t.Errorf("a namespace that was made after the backup is there:\n%s", found)
		}
		s.Must("verify")
		s.apart()
	})
	s.step("certificates are renewed", func() {
		s.Must("certs", "renew", "--all", "--yes")
		s.Must("verify")
		s.apart()
	})
	s.step("the authority of etcd is replaced", func() {
		s.Must("certs", "rotate-ca", "--authority", "etcd", "--yes")
		s.Must("verify")
		s.apart()
	})
	s.step("back and away with members that have changed", func() {
		s.enable(false)
		s.Must("install")
		s.gone()
		s.enable(true)
		s.Must("install")
	})
	s.step("the cluster is removed", func() {
		s.Must("reset", "--wipe", "--yes", "--cluster", "lab")
		for _, host := range masters {
			if left := s.Shell(host, "ls -d /etc/systemd/system/etcd*.service /etc/deployer/etcd* /var/lib/etcd-events/* 2>/dev/null; pidof etcd || true"); left != "" {
				t.Errorf("%s has\n%s", host, left)
			}
		}
	})
}

// masters sets the masters of the inventory.
func (s *events) masters(names ...string) {
	s.Edit(func(inv map[string]any) {
		list := []any{}
		for _, name := range names {
			list = append(list, name)
		}
		harness.Section(inv, "roles")["master"] = list
		harness.Section(inv, "cluster", "etcd")["allow_even"] = len(names)%2 == 0
	})
}

// listed checks the members of the etcd cluster of events.
func (s *events) listed(names ...string) {
	s.T.Helper()
	list := s.etcdctl(2479, "member list")
	if n := strings.Count(list, "started"); n != len(names) {
		s.T.Errorf("%d members serve, want those of %v:\n%s", n, names, list)
	}
	s.RequireTexts(list, names...)
}
