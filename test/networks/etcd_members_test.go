//go:build lab

package networks

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"deployer/test/harness"
	"deployer/test/lab/plan"
)

// TestMembersOfCalicoEtcd lets masters join and leave a cluster whose Calico has its objects in etcd: one
// becomes three, one of which is left at the end. All nodes know the members, the timers of the members save
// one snapshot, and a restore takes it. Pods ping each other meanwhile, but for the restore.
func TestMembersOfCalicoEtcd(t *testing.T) {
	scenario(t)
	s := harness.New(t, "networks", plan.Spec{Masters: 3, Minions: 2})
	addresses := map[string]string{"m1": s.Address("m1"), "m2": s.Address("m2"), "m3": s.Address("m3")}
	masters := func(names ...string) {
		s.Edit(func(inv map[string]any) {
			network := harness.Section(inv, "cluster", "network")
			network["plugin"], network["calico"] = "calico", map[string]any{"datastore": "etcd"}
			hosts := harness.Section(inv, "hosts")
			var roles []any
			for name := range addresses {
				delete(hosts, name)
			}
			for _, name := range names {
				hosts[name] = map[string]any{"address": addresses[name]}
				roles = append(roles, name)
			}
			inv["roles"] = map[string]any{"master": roles, "minion": []any{"n1", "n2"}}
		})
	}
	masters("m1")
	s.Must("install")
	startPods(s)
	requireEndpoints(s, []string{"m1", "n1", "n2"}, addresses["m1"])

	pings := startMesh(s, []string{"m1", "n1", "n2"})
	pings.require(t, "before")
	masters("m1", "m2", "m3")
	s.Must("scale-up")
	pings.require(t, "with three masters")
	all := []string{"m1", "m2", "m3", "n1", "n2"}
	requireEndpoints(s, all, addresses["m1"], addresses["m2"], addresses["m3"])
	s.RequireTexts(s.Must("etcd", "status").All(), "etcd-calico\n")
	s.RequireExit(s.Run("apply", "-i", s.Inventory, "--check", "--detailed-exitcode"), 0)

	for _, name := range all[:3] {
		s.Shell(name, "systemctl start deployer-etcd-calico-backup")
	}
	var file, host string
	for _, name := range all[:3] {
		if found := strings.Fields(s.Shell(name, "ls /var/lib/deployer/etcd-calico-snapshots/scheduled-calico-*.db 2>/dev/null || true")); len(found) > 0 {
			if len(found) > 1 || file != "" {
				t.Errorf("%s and %s have snapshots: %q %q", host, name, file, found)
			}
			file, host = found[0], name
		}
	}
	if file == "" {
		t.Fatal("no member has saved a snapshot of Calico's etcd")
	}
	s.RequireTexts(strings.Join(strings.Fields(s.Must("verify").All()), " "), "etcd-calico backup ok scheduled-calico-", "etcd-calico backup timer ok 3 of 3")
	sent, lost := pings.end(t)
	total.pinged(sent, lost)
	t.Logf("masters join pings=%d lost=%d", sent, lost)
	if lost > 0 || sent < 1000 {
		t.Errorf("%d of %d pings were lost, want none of at least 1000", lost, sent)
	}
	if err := errors.Join(pings.errors...); err != nil {
		t.Error(err)
	}

	s.Shell("m1", "printf 'apiVersion: projectcalico.org/v3\\nkind: GlobalNetworkSet\\nmetadata: {name: later}\\nspec: {nets: [192.0.2.0/24]}\\n' | calicoctl create -f -")
	s.Must("etcd", "restore", fmt.Sprintf("%s:%s", host, file), "--calico", "--yes", "--cluster", "lab")
	if out := s.Shell("m1", "calicoctl get globalnetworksets"); strings.Contains(out, "later") {
		t.Errorf("an object that is younger than the snapshot is there: %s", out)
	}
	s.Must("verify")

	// The members that leave are the ones that nodes have known from the beginning.
	s.Must("scale-down", "m1", "m2", "--yes", "--allow-masters")
	masters("m3")
	requireEndpoints(s, []string{"m3", "n1", "n2"}, addresses["m3"])
	s.RequireTexts(s.Must("install").All(), "0 changed")
	s.Must("verify")
}

// requireEndpoints requires that Calico's programs on nodes know these members of its etcd.
func requireEndpoints(s *harness.Site, nodes []string, addresses ...string) {
	s.T.Helper()
	var urls []string
	for _, a := range addresses {
		urls = append(urls, "https://"+a+":2579")
	}
	want := strings.Join(urls, ",")
	for _, node := range nodes {
		files := "/etc/kubernetes/manifests/calico-node.yaml /etc/cni/net.d/10-calico.conflist"
		if node[0] == 'm' {
			files += " /etc/calico/calicoctl.cfg"
		}
		if out := s.Shell(node, "for f in "+files+"; do grep -q '\""+want+"\"' $f || echo $f; done"); out != "" {
			s.T.Errorf("%s: other members than %s in %s", node, want, out)
		}
	}
	if out := s.Kubectl(nodes[0], "-n kube-system get deployment calico-kube-controllers -o yaml"); !strings.Contains(out, want+"\n") {
		s.T.Errorf("the controllers do not know %s: %s", want, out)
	}
}
