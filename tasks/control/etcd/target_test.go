package etcd

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"deployer/cluster"
	"deployer/engine"
	"deployer/tasks/control/report"
	"deployer/tasks/stat"
)

// TestFirstMembersOfEvents checks what proves that the etcd cluster of events has worked before: the
// mark of a member does, an API server does not, because a running cluster gets its first members of
// events beside API servers.
func TestFirstMembersOfEvents(t *testing.T) {
	c, err := cluster.Resolve(cluster.Spec{Name: "test", Etcd: cluster.EtcdSpec{Events: cluster.EventsSpec{Enabled: true}}}, []cluster.Host{
		{Name: "m1", Address: "10.0.0.1", Roles: []string{cluster.RoleMaster}},
		{Name: "m2", Address: "10.0.0.2", Roles: []string{cluster.RoleMaster}},
		{Name: "m3", Address: "10.0.0.3", Roles: []string{cluster.RoleMaster}},
	})
	if err != nil {
		t.Fatal(err)
	}
	for file, want := range map[string]string{
		apiServerManifest:                  "",
		"/etc/deployer/etcd-member":        "",
		"/etc/deployer/etcd-events-member": "m2 shows that the cluster has worked before",
	} {
		s := run(t, newFake(), "m1", map[string]bool{"m1": false, "m2": false, "m3": false})
		engine.Provide(s.Provided, c)
		s.RunFunc = func(_ context.Context, host, _ string, args engine.Module) (engine.Result, error) {
			look, ok := args.(*stat.Stat)
			return engine.Result{Output: engine.Output{"exists": ok && host == "m2" && look.Path == file}}, nil
		}
		change, err := (&Plan{Target: Target{cluster.EtcdEvents}, Found: "found"}).Check(t.Context(), s)
		if want != "" {
			if err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%s: %v", file, err)
			}
			continue
		}
		if err != nil || change.Output["bootstrap"] != true {
			t.Errorf("%s: %v, %v", file, change.Output, err)
			continue
		}
		if got := fmt.Sprint(change.Output["initial_cluster"]); got != "m1=https://10.0.0.1:2480,m2=https://10.0.0.2:2480,m3=https://10.0.0.3:2480" {
			t.Errorf("the first members are %s", got)
		}
	}
}

// TestNoClusterOfEvents checks that an action fails for an etcd cluster that the cluster has not.
func TestNoClusterOfEvents(t *testing.T) {
	s := run(t, newFake("m1", "m2", "m3"), "m1", nil)
	_, err := (&Members{Target{cluster.EtcdEvents}}).Check(t.Context(), s)
	if err == nil || !strings.Contains(err.Error(), `the cluster has no etcd cluster "etcd-events"`) {
		t.Error(err)
	}
}

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

// TestAdviceForCalico: the advice of a broken member names the flag of its etcd cluster.
func TestAdviceForCalico(t *testing.T) {
	f := newFake("m1", "m2", "m3")
	f.up["m3"] = false
	bad := report.Problems(Rows(t.Context(), f.open, cluster.EtcdCalico, hostsOf("m1", "m2", "m3")))
	if len(bad) == 0 || !strings.HasPrefix(bad[0].Check, "etcd-calico ") || !strings.Contains(bad[0].Fix, "deployer etcd replace m3 --calico") {
		t.Errorf("a member that is down: %+v", bad)
	}
}

// TestChangesGoToTheLeader: a follower cannot forward a promotion where etcd has users.
func TestChangesGoToTheLeader(t *testing.T) {
	f := newFake("m1", "m2", "m3")
	for name := range f.up {
		f.leaders[name] = 3
	}
	if s := Take(t.Context(), f.open, hostsOf("m1", "m2", "m3")); s.via != "m3" {
		t.Errorf("changes go to %s", s.via)
	}
	f.up["m3"] = false
	if s := Take(t.Context(), f.open, hostsOf("m1", "m2", "m3")); s.via != "m1" {
		t.Errorf("without the leader changes go to %q", s.via)
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
