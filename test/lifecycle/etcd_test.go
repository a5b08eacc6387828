//go:build lab

package lifecycle

import (
	"context"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"deployer/test/harness"
)

// writeBeforeBackup writes what requireRestored checks.
func (s *site) writeBeforeBackup() {
	s.T.Helper()
	s.Kubectl("m1", "delete --ignore-not-found configmap/before-the-backup configmap/after-the-backup secret/before-the-backup")
	s.Kubectl("m1", "create configmap before-the-backup")
	s.Kubectl("m1", "create secret generic before-the-backup --from-literal=key=value")
}

// backup saves a snapshot of etcd and returns the path of its copy.
func (s *site) backup() string {
	s.T.Helper()
	dir := s.T.TempDir()
	s.Deployer("etcd", "backup", "--to", dir)
	return onlySnapshot(s, dir)
}

// onlySnapshot returns the path of the one snapshot in a directory.
func onlySnapshot(s *site, dir string) string {
	s.T.Helper()
	files, err := filepath.Glob(filepath.Join(dir, "*.db"))
	if err != nil || len(files) != 1 {
		s.T.Fatalf("copies of the snapshot: %v, %v; want one", files, err)
	}
	return files[0]
}

// requireRestored checks that the cluster has the objects from before a backup, and
// not those from after it.
func (s *site) requireRestored(master string) {
	s.T.Helper()
	maps := s.Kubectl(master, "get configmaps -o name")
	if !strings.Contains(maps, "before-the-backup") || strings.Contains(maps, "after-the-backup") {
		s.T.Errorf("after the restore there are %s", maps)
	}
	if secret := s.Kubectl(master, "get secret before-the-backup -o 'jsonpath={.data.key}'"); secret != "dmFsdWU=" {
		s.T.Errorf("the Secret has %q after the restore", secret)
	}
	s.Kubectl(master, "delete configmap,secret before-the-backup")
}

// etcdRestored restores an older snapshot on three masters, with a controller that is
// killed at every change, and then the same one again. A client that watches during
// the restore gets the restored objects, and sees no resource version go backwards.
func etcdRestored(s *site) {
	s.writeBeforeBackup()
	client := s.watchConfigMaps()
	file := s.backup()
	s.Kubectl("m1", "create configmap after-the-backup")
	client.requireCurrent(s)
	before := client.version()
	s.killAtEveryChange([]string{"etcd", "restore", file, "--yes", "--cluster", "lab"}, []string{"resume"})
	s.RequireReady(nodes)
	s.requireMembers(masters...)
	client.requireRaised(s, before)
	s.requireRestored("m1")
	s.unchanged("after the restore")

	s.Kubectl("m1", "create configmap after-the-backup")
	client.requireCurrent(s)
	before = client.version()
	s.Must("etcd", "restore", file, "--yes", "--cluster", "lab")
	s.RequireReady(nodes)
	s.requireMembers(masters...)
	client.requireRaised(s, before)
	s.requireRestored("m1")
	s.unchanged("after the second restore")
}

// startWithoutQuorum switches a host on whose etcd has no majority, so that the boot
// does not end, and waits until the host answers.
func (s *site) startWithoutQuorum(host string) {
	s.T.Helper()
	ctx, stop := context.WithCancel(s.T.Context())
	var starting sync.WaitGroup
	starting.Go(func() { _ = s.Start(ctx, host) }) // it is stopped below
	s.Eventually(2*time.Minute, host+" answers", func() error {
		_, err := s.SSH(s.T.Context(), host, "true")
		return err
	})
	stop()
	starting.Wait()
}

// waitUntilDead waits until a restored cluster has noticed that nodes of its snapshot are gone.
func (s *site) waitUntilDead(master string, hosts ...string) {
	s.T.Helper()
	s.Eventually(2*time.Minute, "the restored cluster notices that hosts are dead", func() error {
		for _, h := range hosts {
			if s.ReadyStatus(master, h) == "True" {
				return errNotReady(h + " is Ready")
			}
		}
		return nil
	})
}

// quorumLost cuts the power of two of three masters, recovers the cluster from the
// remaining one, whose member has restarted and serves no client, and adds the others
// again as new members.
func quorumLost(s *site) {
	good := s.inventory()
	s.writeBeforeBackup()
	for _, h := range []string{"m2", "m3"} {
		if err := s.Kill(s.T.Context(), h); err != nil {
			s.T.Fatal(err)
		}
	}
	s.RequireExit(s.Deployer("apply", "-i", s.Inventory, "--yes"), 7)
	s.Shell("m1", "systemctl restart --no-block etcd")
	s.Eventually(time.Minute, "the member of m1 answers nobody", func() error {
		if o := s.Deployer("etcd", "backup"); o.Code == 0 || !strings.Contains(o.All(), "etcd backup --offline") {
			return errNotReady("the member still answers")
		}
		return nil
	})
	dir := s.T.TempDir()
	s.runbookWith("quorum-lost-saved", []string{"DIRECTORY", dir})
	s.setRoles([]string{"m1"}, minions)
	s.runbookWith("quorum-lost-restored", []string{"SNAPSHOT", onlySnapshot(s, dir), "CLUSTER", "lab"})
	s.requireRestored("m1")
	s.requireMembers("m1")
	s.setInventory(good)
	s.waitUntilDead("m1", "m2", "m3")
	s.Must("scale-down", "--dead", "m2", "m3", "--yes", "--allow-masters")
	for _, h := range []string{"m2", "m3"} {
		// The hosts start one at a time: together their members would form the old
		// cluster again.
		s.startWithoutQuorum(h)
		s.setRoles([]string{"m1", h}, minions)
		s.Edit(func(inv map[string]any) { harness.Section(inv, "cluster", "etcd")["allow_even"] = true })
		s.scaleDown(h)
	}
	s.setInventory(good)
	s.Must("scale-up", "m2", "m3")
	s.RequireReady(nodes)
	s.requireMembers(masters...)
	s.Must("verify")
}
