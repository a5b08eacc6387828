//go:build lab

package lifecycle

import (
	"encoding/json"
	"path"
	"strings"

	"gopkg.in/yaml.v3"

	"deployer/test/harness"
	"deployer/test/lab/plan"
	"deployer/test/s3server"
)

// backupsInObjectStore configures copies of the members' snapshots in an object
// store, whose bucket does not exist at first, and restores one of them after all
// snapshots on the hosts are gone.
func backupsInObjectStore(s *site) {
	good := s.inventory()
	server := s3server.StartIn(s.T, s.Lab, plan.Controller().String()+":9000")
	s.T.Setenv("AWS_ACCESS_KEY_ID", s3server.AccessKey)
	s.T.Setenv("AWS_SECRET_ACCESS_KEY", s3server.SecretKey)
	s.Edit(func(inv map[string]any) {
		harness.Section(inv, "cluster", "etcd", "backup")["s3"] = map[string]any{
			"endpoint": server.Endpoint, "bucket": "backups", "prefix": "prod", "ca": server.CA,
			"access_key": "member", "secret_key": &yaml.Node{Kind: yaml.ScalarNode, Tag: "!secret", Value: "secret-of-the-members"},
		}
	})
	s.Must("install")
	for _, m := range masters {
		if mode := s.Shell(m, "stat -c %a /etc/deployer/etcd-backup-s3.conf"); strings.TrimSpace(mode) != "600" {
			s.T.Errorf("the credentials on %s have the mode %s", m, mode)
		}
	}
	s.writeBeforeBackup()

	// The bucket does not exist: only the unit of the member that saves the snapshot
	// fails.
	failed := ""
	for _, m := range masters {
		failed += s.Shell(m, "systemctl start deployer-etcd-backup; systemctl is-failed deployer-etcd-backup || true") + " "
	}
	if strings.Count(failed, "failed") != 1 {
		s.T.Errorf("the units without a bucket: %s, want one that has failed", failed)
	}
	server.Bucket("backups")
	server.Account("member", "secret-of-the-members", "backups", "s3:PutObject")
	for _, m := range masters {
		s.Shell(m, "systemctl start deployer-etcd-backup")
	}
	s.Must("etcd", "backup", "--to", "s3://backups/by-hand")
	s.Kubectl("m1", "create configmap after-the-backup")

	var list struct {
		Backups []struct{ Snapshot, Authentic string }
	}
	if err := json.Unmarshal([]byte(s.Must("etcd", "backups", "--output", "json").Stdout), &list); err != nil {
		s.T.Fatal(err)
	}
	// After two runs of the timer's unit the store has both snapshots: the second run
	// has copied that of the first.
	if len(list.Backups) != 2 || !strings.HasPrefix(path.Base(list.Backups[0].Snapshot), "scheduled-") {
		s.T.Fatalf("the store has %v, want two snapshots of the members", list.Backups)
	}
	for _, b := range list.Backups {
		if b.Authentic != "yes" {
			s.T.Errorf("%s, which a member has saved, is authentic: %s", b.Snapshot, b.Authentic)
		}
	}
	s.RequireTexts(s.Must("etcd", "backups", "s3://backups/by-hand").Stdout, "s3://backups/by-hand/", "yes")
	for _, m := range masters {
		s.Shell(m, "rm -f /var/lib/deployer/etcd-snapshots/*")
	}
	s.Must("etcd", "restore", list.Backups[1].Snapshot, "--yes", "--cluster", "lab")
	s.RequireReady(nodes)
	s.requireRestored("m1")

	s.setInventory(good)
	s.Must("install")
	if left := s.Shell("m1", "ls /etc/deployer | grep -e s3 -e copy || true"); strings.TrimSpace(left) != "" {
		s.T.Errorf("without the store m1 still has %s", left)
	}
}
