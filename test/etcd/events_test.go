//go:build lab

package etcd

import (
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"deployer/test/harness"
	"deployer/test/lab/plan"
	"deployer/test/prober"
)

// steps is the number of steps that have passed.
var steps int

// events is a cluster whose events move between two etcd clusters.
type events struct{ *harness.Site }

// masters are the hosts with members.
var masters = []string{"m1", "m2", "m3"}

// TestEvents installs a cluster with an etcd cluster of its own for events, breaks and repairs its
// members, and moves events back to the cluster's own etcd and away again while clients write.
func TestEvents(t *testing.T) {
	s := &events{harness.New(t, "etcd", plan.Spec{Masters: 3, Minions: 1})}
	s.enable(true)
	s.Must("install")
	s.RequireTexts(s.Must("install").All(), "0 changed")
	s.Must("verify")

	s.step("events are in their own etcd cluster only", s.apart)
	s.step("the data of a member is lost", s.dataLost)
	s.step("a member is replaced", s.replaced)
	s.step("events are saved and restored", s.restored)
	target := s.ProberTarget("n1")
	before := s.objects()
	s.step("back to the cluster's own etcd", func() {
		s.enable(false)
		s.WhileProbing(target, prober.Tolerance{}, func() { s.Must("install") })
		s.RequireTexts(s.Must("install").All(), "0 changed")
		s.gone()
	})
	s.step("away again", func() {
		s.enable(true)
		s.WhileProbing(target, prober.Tolerance{}, func() { s.Must("install") })
		s.RequireTexts(s.Must("install").All(), "0 changed")
		s.apart()
	})
	if after := s.objects(); after != before {
		t.Errorf("moving events has changed other objects:\nbefore\n%s\nafter\n%s", before, after)
	}
	s.Must("verify")
}

// step runs a part of the scenario and counts it when nothing has failed.
func (s *events) step(name string, do func()) {
	s.T.Helper()
	s.T.Log(name)
	do()
	if !s.T.Failed() {
		steps++
	}
}

// enable changes the inventory.
func (s *events) enable(on bool) {
	s.Edit(func(inv map[string]any) {
		harness.Section(inv, "cluster", "etcd")["events"] = map[string]any{"enabled": on}
	})
}

// etcdctl runs etcdctl on m1, with the member on a port.
func (s *events) etcdctl(port int, args string) string {
	s.T.Helper()
	return s.Shell("m1", fmt.Sprintf("etcdctl --endpoints=https://127.0.0.1:%d --cacert=/etc/kubernetes/pki/etcd/ca.crt "+
		"--cert=/etc/kubernetes/pki/etcd/healthcheck-client.crt --key=/etc/kubernetes/pki/etcd/healthcheck-client.key %s", port, args))
}

// keys returns the keys of objects in the etcd cluster whose members serve clients on a port, without
// those by which API servers compact the history.
func (s *events) keys(port int, prefix string) []string {
	s.T.Helper()
	var out []string
	for key := range strings.FieldsSeq(s.etcdctl(port, "get --prefix --keys-only "+prefix)) {
		if key != "compact_rev_key" {
			out = append(out, key)
		}
	}
	return out
}

// record writes an event through the API server of a host.
func (s *events) record(host, name string) {
	s.T.Helper()
	s.Shell(host, "kubectl --kubeconfig /etc/kubernetes/admin.conf create -f - >/dev/null <<'EOF'\n"+`apiVersion: v1
kind: Event
metadata: {name: `+name+`, namespace: default}
involvedObject: {kind: Namespace, name: default}
reason: Test
message: written by the scenario
type: Normal
EOF`)
}

// apart checks that an event of each master is in the etcd cluster of events and not in the cluster's
// own, which has no event younger than the move and everything else.
func (s *events) apart() {
	s.T.Helper()
	stamp := fmt.Sprint(time.Now().UnixNano())
	for _, host := range masters {
		s.record(host, "test-"+host+"-"+stamp)
	}
	for _, host := range masters {
		key := "/registry/events/default/test-" + host + "-" + stamp
		if got := s.keys(2479, key); len(got) != 1 {
			s.T.Errorf("the etcd cluster of events has no %s", key)
		}
		if got := s.keys(2379, key); len(got) != 0 {
			s.T.Errorf("the cluster's own etcd has %s", key)
		}
	}
	for _, key := range s.keys(2479, "/") {
		if !strings.HasPrefix(key, "/registry/events/") {
			s.T.Errorf("the etcd cluster of events has %s", key)
		}
	}
	s.RequireTexts(s.Must("status").All(), "etcd-events members")
}

// dataLost removes the data of a member: its unit does not start without it, and install replaces it.
func (s *events) dataLost() {
	s.Shell("m2", "systemctl stop etcd-events; rm -rf /var/lib/etcd-events/member; systemctl start --no-block etcd-events")
	s.Eventually(20*time.Second, "the unit refuses to start", func() error {
		if log := s.Shell("m2", "journalctl -u etcd-events -n 20 -o cat"); !strings.Contains(log, "its data is gone") {
			return errors.New(log)
		}
		return nil
	})
	o := s.Deployer("verify")
	s.RequireExit(o, 5)
	s.RequireTexts(o.All(), "etcd-events member", "deployer etcd replace m2 --events")
	s.Must("install")
	s.RequireTexts(s.etcdctl(2479, "member list"), "m1", "m2", "m3")
	s.Must("status")
	s.apart()
}

// replaced puts a new member in the place of one whose data is kept.
func (s *events) replaced() {
	before := s.etcdctl(2479, "member list")
	s.Must("etcd", "replace", "m3", "--events", "--yes")
	s.Shell("m3", "ls -d /var/lib/etcd-events/before-*/member")
	if now := s.etcdctl(2479, "member list"); now == before {
		s.T.Errorf("the members are still\n%s", now)
	}
	s.RequireTexts(s.Must("etcd", "status").All(), "etcd-events\n")
	s.RequireTexts(s.Must("install").All(), "0 changed")
	s.apart()
}

// restored saves the events, writes another one and restores the former state; the cluster's own
// etcd refuses the file, and that of events refuses a snapshot of the cluster's own.
func (s *events) restored() {
	dir, own := s.T.TempDir(), s.T.TempDir()
	s.record("m1", "kept")
	s.Must("etcd", "backup", "--events", "--to", dir)
	s.Must("etcd", "backup", "--to", own)
	s.record("m2", "lost")
	s.Must("etcd", "defrag", "--events", "--all")
	for reason, wrong := range map[string][]string{"nothing but events": {s.only(dir)}, "it has /registry/": {s.only(own), "--events"}} {
		o := s.Deployer(append([]string{"etcd", "restore", "--yes", "--cluster", "lab", "--ignore-keys"}, wrong...)...)
		if o.Code == 0 {
			s.T.Errorf("%v was restored", wrong)
		}
		s.RequireTexts(o.All(), reason)
	}
	s.Must("etcd", "restore", s.only(dir), "--events", "--yes", "--cluster", "lab")
	if got := s.keys(2479, "/registry/events/default/kept"); len(got) != 1 {
		s.T.Error("the event of the snapshot is not there")
	}
	if got := s.keys(2479, "/registry/events/default/lost"); len(got) != 0 {
		s.T.Error("an event that was written after the snapshot is there")
	}
	s.RequireTexts(s.Must("install").All(), "0 changed")
	s.apart()
}

// only returns the path of the only snapshot in a directory.
func (s *events) only(dir string) string {
	s.T.Helper()
	files, err := filepath.Glob(filepath.Join(dir, "*.db"))
	if err != nil || len(files) != 1 {
		s.T.Fatalf("%s has %v, %v", dir, files, err)
	}
	return files[0]
}

// gone checks that no member of events is left, except for its data, and that API servers write
// events to the cluster's own etcd.
func (s *events) gone() {
	s.T.Helper()
	stamp := fmt.Sprint(time.Now().UnixNano())
	for _, host := range masters {
		if left := s.Shell(host, "ls -d /etc/systemd/system/etcd-events.service /etc/deployer/etcd-events* /var/lib/etcd-events/member 2>/dev/null; pgrep -af '[d]ata-dir=/var/lib/etcd-events' || true"); left != "" {
			s.T.Errorf("%s has\n%s", host, left)
		}
		s.Shell(host, "ls -d /var/lib/etcd-events/removed-*/member")
		s.record(host, "back-"+host+"-"+stamp)
		key := "/registry/events/default/back-" + host + "-" + stamp
		if got := s.keys(2379, key); len(got) != 1 {
			s.T.Errorf("the cluster's own etcd has no %s", key)
		}
	}
}

// objects returns the UIDs of objects that nothing in the scenario changes.
func (s *events) objects() string {
	s.T.Helper()
	return s.Kubectl("m1", "get namespaces,nodes,services,serviceaccounts,configmaps,clusterroles,clusterrolebindings,deployments -A "+
		`-o 'jsonpath={range .items[*]}{.kind}{" "}{.metadata.namespace}{"/"}{.metadata.name}{" "}{.metadata.uid}{"\n"}{end}'`)
}
