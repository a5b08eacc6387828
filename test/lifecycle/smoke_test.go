//go:build lab

package lifecycle

import (
	"os"
	"path/filepath"
	"regexp"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"deployer/test/harness"
	"deployer/test/lab/plan"
	"deployer/test/prober"
)

// singleMaster is the tolerance for the upgrade and the rollback of a cluster with
// one master: no API answers while its API server and its etcd restart, and nodes may
// be not Ready while their kubelets restart. Traffic of the Service may not notice
// it.
var singleMaster = prober.Tolerance{Gap: time.Minute, PodGap: prober.Retry, NotReady: []string{"m1", "n1", "n2"}}

// TestSmoke tests the life of a small cluster in minutes: a minion joins, an upgrade
// is killed and continued by a controller that has no logs, a third controller rolls
// it back, the minion leaves, the hosts are reset. The API proxies are HAProxy.
func TestSmoke(t *testing.T) {
	h := harness.New(t, "lifecycle", plan.Spec{Masters: 1, Minions: 2})
	s := &site{Site: h}
	inventory := func(version string, minions ...string) {
		s.setRoles([]string{"m1"}, minions)
		s.Edit(func(inv map[string]any) {
			harness.Section(inv, "cluster")["kubernetes"] = version
			harness.Section(inv, "cluster", "proxy")["kind"] = "haproxy"
		})
	}
	left := filepath.Join(t.TempDir(), "left")
	s.Edit(func(inv map[string]any) {
		harness.Section(inv, "cluster", "maintenance")["hooks"] = []any{map[string]any{"name": "provisioner", "phase": "removed",
			"command": []any{"sh", "-c", "echo {{ host.name }} $DEPLOYER_HOST $DEPLOYER_ADDRESS $DEPLOYER_PHASE >> " + left}}}
	})
	inventory(older, "n1")
	bare := map[string][]string{}
	for _, host := range []string{"m1", "n1", "n2"} {
		bare[host] = s.hostState(host)
	}
	s.Must("install")
	target := s.ProberTarget("n1")
	before := s.processes("m1", "n1")
	inventory(older, "n1", "n2")
	s.WhileProbing(target, prober.Tolerance{NotReady: []string{"n2"}}, func() { s.Must("scale-up") })
	s.requireProcesses(before, "when a minion joined")
	s.RequireTexts(s.Must("network", "status").Stdout, "pod network bgp, full mesh", "\n3 nodes, no problems\n")
	versions := func(want string) {
		t.Helper()
		if diff := cmp.Diff(map[string]string{"m1": want, "n1": want, "n2": want}, s.kubelets()); diff != "" {
			t.Errorf("versions of the kubelets (-want +got):\n%s", diff)
		}
		for _, n := range []string{"m1", "n1", "n2"} {
			s.RequireSchedulable(n, "with the kubelets of "+want)
		}
	}
	s.WhileProbing(s.ProberTarget("n1", "n2"), singleMaster, func() {
		first := s.StartRun("upgrade", "--to", newer)
		first.Until("the change of a minion", func(e map[string]any) bool { return e["host"] != "m1" && changed(e) })
		first.Kill()
		s.OtherController().Must("resume", "--from-hosts", "--yes")
		versions(newer)
		s.OtherController().Must("rollback", "--from-hosts", "--yes", "--lower-minor")
		versions(older)
	})
	s.unchanged("after the rollback")
	s.Must("scale-down", "--yes", "n2")
	if text, err := os.ReadFile(left); err != nil || string(text) != "n2 n2 "+s.Address("n2")+" removed\n" {
		t.Errorf("the hook for hosts that have left wrote %q, %v", text, err)
	}
	s.requireNodes("m1", "m1", "n1")
	inventory(older, "n1")
	s.unchanged("after the minion left")
	s.Must("reset", "--wipe", "--yes", "--cluster", "lab")
	for _, host := range []string{"m1", "n1", "n2"} {
		if left := s.Shell(host, "pidof etcd kubelet containerd kube-apiserver kube-proxy bird nginx haproxy; true"); left != "" {
			t.Errorf("on %s there still are the processes %s", host, left)
		}
	}
	s.requireState("m1", bare["m1"], nil)
	s.requireState("n1", bare["n1"], nil)
	// n2 left before, and scale-down keeps disks.
	s.requireState("n2", bare["n2"], regexp.MustCompile(" /var/lib/containerd/"))
}
