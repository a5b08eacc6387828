//go:build lab

package networks

import (
	"strings"
	"testing"

	"deployer/test/harness"
	"deployer/test/lab/plan"
)

// etcdctl calls etcdctl on a host with a certificate, at the port of an etcd cluster on the same or another
// host.
func etcdctl(address, port, ca, certificate string) string {
	return "etcdctl --command-timeout 3s --dial-timeout 3s --endpoints https://" + address + ":" + port + " --cacert " + ca + " --cert " + certificate + ".crt --key " + certificate + ".key "
}

// Certificates of nodes for the etcd cluster of Calico.
const (
	calicoCA       = "/etc/kubernetes/pki/etcd-calico/ca.crt"
	ownCA          = "/etc/kubernetes/pki/etcd/ca.crt"
	calicoNodeCert = "/etc/kubernetes/pki/calico-node/calico-node-etcd"
	calicoCNICert  = "/etc/kubernetes/pki/calico-cni/calico-cni-etcd"
	calicoctlCert  = "/etc/kubernetes/pki/etcd-calico/calicoctl"
)

// TestDatastoreEtcd installs a cluster whose Calico has its objects in an etcd cluster of its own. Policies
// are enforced, a node's certificate reaches no other keys and no other etcd, nodes join and leave, a member
// is replaced and saved, certificates and the authority change while pods of two nodes ping each other.
func TestDatastoreEtcd(t *testing.T) {
	scenario(t)
	s := harness.New(t, "calico-etcd", plan.Spec{Masters: 3, Minions: 2})
	n2 := s.Address("n2")
	s.Edit(func(inv map[string]any) {
		network := harness.Section(inv, "cluster", "network")
		network["plugin"], network["calico"] = "calico", map[string]any{"datastore": "etcd"}
		network["host_firewall"] = map[string]any{"enabled": true}
		inv["roles"] = map[string]any{"master": []any{"m1", "m2", "m3"}, "minion": []any{"n1"}}
		delete(harness.Section(inv, "hosts"), "n2")
	})
	s.Must("install")
	s.Must("verify")
	s.RequireTexts(s.Must("install").All(), "0 changed")
	s.RequireExit(s.Run("apply", "-i", s.Inventory, "--check", "--detailed-exitcode"), 0)
	s.RequireTexts(s.Must("etcd", "status").All(), "etcd-calico\n")
	s.RequireTexts(s.Must("status").All(), "etcd-calico members")
	if out := s.Kubectl("m1", "get crd -o name"); strings.Contains(out, "projectcalico") {
		t.Errorf("the API has kinds of Calico: %s", out)
	}
	requireCalicoUsers(s)

	pods := startPods(s)
	requireNetwork(s, "pod network calico, encapsulation none, full mesh", "m1 3 of 3 3 of 3", "4 nodes, no problems")
	s.RequireTexts(s.Shell("m1", "calicoctl get nodes; calicoctl get ippools"), "n1", "default-ipv4-ippool")

	pings := []*pinger{startPing(s, "n1", pods["m1"]), startPing(s, "n1", pods["m3"])}
	s.Edit(func(inv map[string]any) {
		harness.Section(inv, "hosts")["n2"] = map[string]any{"address": n2}
		harness.Section(inv, "roles")["minion"] = []any{"n1", "n2"}
	})
	s.Must("scale-up")
	s.RequireReady([]string{"m1", "m2", "m3", "n1", "n2"})
	requireNetwork(s, "n2 4 of 4 4 of 4", "5 nodes, no problems")
	policies(s, startPods(s))

	s.Shell("m2", "systemctl stop etcd-calico; rm -rf /var/lib/etcd-calico/member")
	s.Must("etcd", "replace", "m2", "--calico", "--yes")
	s.Must("etcd", "backup", "--calico", "--to", t.TempDir())
	s.Must("certs", "renew", "--all", "--yes")
	s.Must("certs", "rotate-ca", "--authority", "etcd-calico", "--yes")
	requireCalicoUsers(s)
	s.Must("verify")
	s.RequireTexts(s.Must("install").All(), "0 changed")
	sent, lost := 0, 0
	for _, p := range pings {
		a, b := p.stop()
		sent, lost = sent+a, lost+a-b
	}
	total.pinged(sent, lost)
	if sent < 300 || lost > 0 {
		t.Errorf("%d of %d pings were lost, want none of at least 300", lost, sent)
	}
	policies(s, podsOf(s))

	s.Must("scale-down", "n2", "--yes")
	s.Edit(func(inv map[string]any) {
		delete(harness.Section(inv, "hosts"), "n2")
		harness.Section(inv, "roles")["minion"] = []any{"n1"}
	})
	s.Must("verify")

	s.Edit(func(inv map[string]any) { delete(harness.Section(inv, "cluster", "network", "calico"), "datastore") })
	o := s.Deployer("install")
	s.RequireExit(o, refused)
	s.RequireTexts(o.All(), "network.calico.datastore is kubernetes, and nodes have Calico's objects in etcd")
	s.Edit(func(inv map[string]any) { harness.Section(inv, "cluster", "network", "calico")["datastore"] = "etcd" })

	s.Must("reset", "--wipe", "--yes", "--cluster", "lab")
	for _, host := range []string{"m1", "m2", "m3", "n1"} {
		if left := s.Shell(host, "ls -d /etc/systemd/system/etcd*.service /etc/kubernetes/pki /var/lib/etcd-calico/* /etc/calico 2>/dev/null; pidof etcd || true"); left != "" {
			t.Errorf("%s still has %s", host, left)
		}
	}
}

// requireCalicoUsers requires that certificates of nodes reach the keys of Calico's documentation and no
// others, and that the cluster's own etcd refuses them.
func requireCalicoUsers(s *harness.Site) {
	s.T.Helper()
	const resources = "/calico/resources/v3/projectcalico.org/"
	master := s.Address("m1")
	for _, c := range []struct {
		what, host, command string
		says                string // in the error; empty: the command succeeds
	}{
		{"calico-node reads policies", "m2", etcdctl(master, "2579", calicoCA, calicoNodeCert) + "get --prefix --keys-only " + resources, ""},
		{"calico-node writes a policy", "m2", etcdctl(master, "2579", calicoCA, calicoNodeCert) + "put " + resources + "globalnetworkpolicies/x y", "permission denied"},
		{"calico-node reads other keys", "m2", etcdctl(master, "2579", calicoCA, calicoNodeCert) + "get /registry/x", "permission denied"},
		{"the CNI plugin reads pools", "m2", etcdctl(master, "2579", calicoCA, calicoCNICert) + "get --prefix --keys-only " + resources + "ippools/", ""},
		{"the CNI plugin reads policies", "m2", etcdctl(master, "2579", calicoCA, calicoCNICert) + "get --prefix --keys-only " + resources + "globalnetworkpolicies/", "permission denied"},
		{"calico-node lists users", "m2", etcdctl(master, "2579", calicoCA, calicoNodeCert) + "user list", "permission denied"},
		{"calico-node saves a snapshot", "m2", etcdctl(master, "2579", calicoCA, calicoNodeCert) + "snapshot save /root/stolen.db", "permission denied"},
		{"calicoctl writes a policy", "m1", etcdctl(master, "2579", calicoCA, calicoctlCert) + "put " + resources + "globalnetworksets/x '{}' && " + etcdctl(master, "2579", calicoCA, calicoctlCert) + "del " + resources + "globalnetworksets/x", ""},
		{"a certificate of a node at the cluster's own etcd", "m2", etcdctl(master, "2379", ownCA, calicoNodeCert) + "get --prefix --keys-only --limit 1 /registry/secrets/", "context deadline exceeded"},
		{"a certificate of the API server at Calico's etcd", "m2", etcdctl(master, "2579", calicoCA, "/etc/kubernetes/pki/apiserver/apiserver-etcd-client") + "get --prefix --keys-only --limit 1 /calico/", "context deadline exceeded"},
	} {
		out, err := s.SSH(s.T.Context(), c.host, c.command+" 2>&1")
		text := strings.TrimSpace(out)
		if err != nil {
			text += " " + err.Error()
		}
		switch {
		case c.says == "" && err != nil:
			s.T.Errorf("%s: %s", c.what, text)
		case c.says != "" && err == nil:
			s.T.Errorf("%s: it succeeds: %s", c.what, text)
		case c.says != "" && !strings.Contains(text, c.says):
			s.T.Errorf("%s: %s, want %s", c.what, text, c.says)
		}
	}
	// etcdctl tries until its time is over when a member does not trust its certificate.
	for _, unit := range []string{"etcd", "etcd-calico"} {
		if log := s.Shell("m1", "journalctl -u "+unit+" -o cat --grep 'rejected connection.*certificate signed by unknown authority' -n 1 || true"); !strings.Contains(log, "unknown authority") {
			s.T.Errorf("%s of m1 has rejected no certificate: %s", unit, log)
		}
	}
}
