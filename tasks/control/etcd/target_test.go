package etcd

import (
	"strings"
	"testing"

	"deployer/cluster"
	"deployer/tasks/control/report"
)

// TestRowsOfEvents checks that the rows of the etcd cluster of events cannot be mistaken for those
// of the cluster's own etcd, and that their advice names it.
func TestRowsOfEvents(t *testing.T) {
	f := newFake("m1", "m2", "m3")
	f.up["m3"] = false
	rows := Rows(t.Context(), f.open, cluster.EtcdEvents, hostsOf("m1", "m2", "m3"))
	for _, r := range rows {
		if !strings.HasPrefix(r.Check, "etcd-events ") {
			t.Errorf("a row is about %q", r.Check)
		}
	}
	bad := report.Problems(rows)
	if len(bad) == 0 || !strings.Contains(bad[0].Fix, "journalctl -u etcd-events") || !strings.Contains(bad[0].Fix, "deployer etcd replace m3 --events") {
		t.Errorf("a member that is down: %+v", bad)
	}
}

// TestPathsOfMembers checks that the members of a host share neither unit nor mark.
func TestPathsOfMembers(t *testing.T) {
	if got := unitPath("") + " " + markPath(cluster.EtcdOwn); got != "/etc/systemd/system/etcd.service /etc/deployer/etcd-member" {
		t.Error(got)
	}
	if got := unitPath(cluster.EtcdEvents) + " " + markPath(cluster.EtcdEvents); got != "/etc/systemd/system/etcd-events.service /etc/deployer/etcd-events-member" {
		t.Error(got)
	}
}
