//go:build lab

package e2e

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"deployer/test/harness"
	"deployer/test/lab/plan"
)

// TestSingleNode installs every role on one host, with the older of the two Kubernetes
// versions, and with etcd's log in a directory of its own.
func TestSingleNode(t *testing.T) {
	s := newSite(t, plan.Spec{Masters: 1})
	s.Edit(func(inv map[string]any) {
		roles := harness.Section(inv, "roles")
		for _, r := range []string{"master", "minion", "etcd", "proxy"} {
			roles[r] = []any{"m1"}
		}
		harness.Section(inv, "cluster")["kubernetes"] = older
		harness.Section(inv, "cluster", "overrides", "etcd", "extra_args")["wal-dir"] = "/srv/etcd-log"
	})
	s.Must("install")
	s.Must("verify")
	s.Shell("m1", "ls /srv/etcd-log/wal/*.wal && test ! -e /var/lib/etcd/member/wal")
	if got := s.Kubectl("m1", "get node m1 -o 'jsonpath={.status.nodeInfo.kubeletVersion}'"); got != older {
		t.Errorf("the kubelet is %s, want %s", got, older)
	}
	if got := s.Kubectl("m1", "get node m1 -o 'jsonpath={.spec.taints}'"); got != "" {
		t.Errorf("the only node has taints %s; nothing could run on it", got)
	}
	lostReceipts(t, s, "m1")
	renewedCertificate(t, s, "m1")
	lostEncryptionKey(t, s, "m1")
	restored(t, s, "m1")
	rebooted(t, s, "m1")
	started(t, s, "m1")
}

// lostReceipts removes the receipts of a host. An install still recognises its files and
// restarts nothing; of the probe images only the newest stays.
func lostReceipts(t *testing.T, s *site, host string) {
	image := s.Shell(host, `ctr -n k8s.io images ls -q | grep '^deployer.local/probe:'`)
	s.Shell(host, "rm -r /var/lib/deployer/receipts; ctr -n k8s.io images tag "+image+" deployer.local/probe:older")
	before := s.Processes(host)
	s.Must("install")
	if diff := cmp.Diff(before, s.Processes(host)); diff != "" {
		t.Errorf("%s: install without receipts changed processes (-before +after):\n%s", host, diff)
	}
	if got := s.Shell(host, `ctr -n k8s.io images ls -q | grep '^deployer.local/probe:'`); got != image {
		t.Errorf("%s has the probe images %q, want only %s", host, got, image)
	}
	if _, r := s.Events(s.Must("install", "--output", "json")); r.Changed() != 0 {
		t.Errorf("the next install: %d changed, want 0", r.Changed())
	}
}

// rebooted checks that a rebooted host has the same state as before. The limit leaves room
// for the kubelet: a controller manager ends when no API server answers for 10 s, and the
// kubelet waits 10, 20, 40 and 80 s before it starts it again.
func rebooted(t *testing.T, s *site, host string) {
	if err := s.Reboot(t.Context(), host); err != nil {
		t.Fatal(err)
	}
	s.Eventually(5*time.Minute, "the cluster is healthy after a reboot", func() error {
		if o := s.Deployer("verify"); o.Code != 0 {
			return errors.New(o.Stdout)
		}
		return nil
	})
	if _, r := s.Events(s.Must("install", "--output", "json")); r.Changed() != 0 {
		t.Errorf("install after a reboot: %d changed, want 0", r.Changed())
	}
}

// TestDedicatedEtcd installs etcd on hosts of its own and an external load balancer
// on a host that is no node; with nginx, the other CNI mode, an audit log, registry mirrors
// and an override of one host. The hosts lack packages, which a package source in the
// lab has.
func TestDedicatedEtcd(t *testing.T) {
	s := newSite(t, plan.Spec{Masters: 1, Minions: 2, Etcd: 3, Proxies: 1})
	m := s.mirrors()
	s.Edit(func(inv map[string]any) {
		harness.Section(inv, "cluster", "proxy")["kind"] = "nginx"
		harness.Section(inv, "cluster", "network")["cni"] = "ptp"
		harness.Section(inv, "cluster", "api", "audit")["enabled"] = true
		containerd := harness.Section(inv, "cluster", "containerd")
		containerd["mirrors"] = map[string]any{"docker.io": []any{m.plain}, "quay.io": []any{m.secure}}
		containerd["authorities"] = map[string]any{m.host: m.authority}
		harness.Section(inv, "hosts", "n1", "overrides", "kubelet")["maxPods"] = 42
	})
	gone := append(s.purge("n1", "conntrack", "bird2"), s.purge("p1", "nginx", "nginx-common", "libnginx-mod-stream")...)
	s.packageSource(gone, "n1", "p1")
	events, _ := s.Events(s.Must("install", "--output", "json"))
	for host, want := range map[string]string{"n1": "not installed yet: bird2, conntrack; a package source offers them", "p1": "not installed yet: libnginx-mod-stream, nginx; a package source offers them", "m1": "all 7 installed"} {
		if got := preflight(events, host, "packages"); got != want {
			t.Errorf("preflight says of the packages of %s: %q, want %q", host, got, want)
		}
	}
	s.Must("verify")
	for _, registry := range []string{"docker.io/", "quay.io/"} {
		if err := s.Pull("m1", "n1", registry+sampleImage); err != nil {
			t.Error(err)
		}
	}
	if out, _ := s.SSH(t.Context(), "m1", "pidof etcd"); strings.TrimSpace(out) != "" {
		t.Error("etcd runs on the master although hosts were named for it")
	}
	s.Shell("m1", "test -s /var/log/kubernetes/audit/audit.log")
	if m1, n1 := s.pods("m1"), s.pods("n1"); m1 != "110" || n1 != "42" {
		t.Errorf("m1 may run %s pods and n1 %s, want 110 and 42", m1, n1)
	}
	for _, h := range []string{"e1", "e2", "e3"} {
		s.Shell(h, "systemctl is-active etcd")
		if got := s.Shell(h, "ps -o user= -C etcd; find /var/lib/etcd ! -user etcd"); got != "etcd" {
			t.Errorf("%s: etcd runs as, and has files of others: %s", h, got)
		}
	}
	if got := s.Shell("n1", fmt.Sprintf("curl -sS --cacert /etc/kubernetes/pki/ca.crt https://%s:6443/readyz", s.Address("p1"))); got != "ok" {
		t.Errorf("the API through the proxy host says %q", got)
	}
	t.Run("a minion becomes a proxy", func(t *testing.T) { becomesProxy(t, s.on(t), "n2", "n1") })
	t.Run("what the inventory no longer names", func(t *testing.T) { leftovers(t, s.on(t)) })
}

// pods returns the maximum number of pods of a node.
func (s *site) pods(node string) string {
	return s.Kubectl("m1", "get node "+node+" -o 'jsonpath={.status.capacity.pods}'")
}

// older is a Kubernetes version of the minor release before that of the default.
const older = "v1.35.4"

// TestHAProxy installs a cluster with HAProxy for nodes and external clients and with
// two route reflectors, a master and a minion, of which the minion lies, and stops the master.
func TestHAProxy(t *testing.T) {
	s := newSite(t, plan.Spec{Masters: 3, Minions: 2, Proxies: 1})
	s.Edit(func(inv map[string]any) {
		harness.Section(inv, "cluster", "proxy")["kind"] = "haproxy"
		harness.Section(inv, "cluster", "network")["reflectors"] = []any{"m1", "n2"}
	})
	s.Must("install")
	s.Must("verify")
	s.Shell("n1", "pidof haproxy")
	s.Shell("p1", "systemctl is-active deployer-proxy && pidof haproxy")
	outside := func() string {
		return s.Shell("p1", fmt.Sprintf("curl -sS -k --max-time 5 https://%s:6443/readyz", s.Address("p1")))
	}
	if got := outside(); got != "ok" {
		t.Errorf("the API through the proxy host says %q", got)
	}
	if got := s.Shell("n1", "birdc show protocols | grep -c Established"); got != "2" {
		t.Errorf("n1 has %s BGP sessions, want one with each of the 2 reflectors", got)
	}
	rogueRouter(t, s, "n1", "n2", "m1", "m2", "n2")
	rogueReflector(t, s, "n2", "m3", "m1", "n1")
	t.Run("a port that is taken", func(t *testing.T) { takenPort(s.on(t), outside) })
	s.moveLeader("m1")
	stopMaster(t, s, false)
	for range 5 {
		if got := outside(); got != "ok" {
			t.Errorf("a master is dead, and the API through the proxy host says %q", got)
		}
	}
	routes := s.Shell("n1", "ip route show proto bird")
	for _, node := range []string{"m1", "m3", "n2"} {
		if !strings.Contains(routes, "via "+s.Address(node)+" ") {
			t.Errorf("n1 has no route to the pods of %s after a reflector died:\n%s", node, routes)
		}
	}
}

// takenPort sets a load balancer port that sshd uses: the install refuses it before any
// change, and external clients still reach the API.
func takenPort(s *site, outside func() string) {
	good, err := os.ReadFile(s.Inventory)
	if err != nil {
		s.T.Fatal(err)
	}
	before := s.Digests("/etc/deployer/haproxy.conf", []string{"p1"})
	s.Edit(func(inv map[string]any) { harness.Section(inv, "cluster", "proxy")["port"] = 22 })
	o := s.Deployer("install")
	if err := os.WriteFile(s.Inventory, good, 0o600); err != nil {
		s.T.Fatal(err)
	}
	if o.Code != 4 {
		s.T.Fatalf("exit %d, want 4\n%s", o.Code, o.All())
	}
	s.RequireTexts(o.All(), "p1", "22", "nothing was changed")
	if diff := cmp.Diff(before, s.Digests("/etc/deployer/haproxy.conf", []string{"p1"})); diff != "" {
		s.T.Errorf("configuration (- before, + after): %s", diff)
	}
	if got := outside(); got != "ok" {
		s.T.Errorf("the API through the proxy host says %q", got)
	}
}
