//go:build lab

package lifecycle

import (
	"slices"
	"strings"
	"time"

	"github.com/google/go-cmp/cmp"

	"deployer/test/harness"
)

// scaleDown removes hosts from the cluster.
func (s *site) scaleDown(args ...string) {
	s.T.Helper()
	s.Must(append([]string{"scale-down", "--yes", "--allow-masters"}, args...)...)
}

// requireNodes checks the names of the cluster's nodes.
func (s *site) requireNodes(master string, want ...string) {
	s.T.Helper()
	got := strings.Fields(s.Kubectl(master, "get nodes -o 'jsonpath={.items[*].metadata.name}'"))
	slices.Sort(got)
	if diff := cmp.Diff(want, got); diff != "" {
		s.T.Errorf("nodes (-want +got):\n%s", diff)
	}
}

// comeBack installs the full inventory, which has the removed hosts again. Their nodes
// are cordoned before they register, and tested before they take pods.
func (s *site) comeBack(left ...string) {
	s.T.Helper()
	events, _ := s.Events(s.Must("install", "--output", "json"))
	steps := harness.ChangedSteps(events)
	for _, h := range left {
		cordoned, open := slices.Index(steps, h+" the node is cordoned before its kubelet registers"), slices.Index(steps, h+" uncordon the node")
		if cordoned < 0 || open < cordoned {
			s.T.Errorf("%s was cordoned at step %d and uncordoned at step %d of %d", h, cordoned, open, len(steps))
		}
	}
	s.requireUncordoned("after " + strings.Join(left, ", ") + " came back")
	s.RequireReady(nodes)
	s.requireMembers(masters...)
}

// minionLeaves removes a minion and adds it again. Nothing restarts on the others, which
// get the minion's pods of the cluster DNS.
func minionLeaves(s *site) {
	before := s.processes("m1", "m2", "m3", "n1", "n2")
	s.scaleDown("n3")
	s.requireNodes("m1", "m1", "m2", "m3", "n1", "n2")
	if left := s.Shell("n3", "pidof kubelet containerd etcd bird nginx kube-proxy; ip route show proto bird; ls /etc/kubernetes 2>/dev/null; true"); left != "" {
		s.T.Errorf("on n3 there is still: %s", left)
	}
	s.comeBack("n3")
	s.requireProcesses(before, "when a minion left and came back", "coredns")
}

// firstMasterLeaves stops etcd on the first master. The removal of another master is
// refused, as etcd would lose its quorum; the first one can be removed, and is added
// again.
func firstMasterLeaves(s *site) {
	s.Shell("m1", "systemctl stop etcd")
	o := s.Deployer("scale-down", "--yes", "--allow-masters", "m2")
	s.RequireExit(o, 4)
	s.RequireTexts(o.All(), "quorum")
	s.requireNodes("m2", nodes...)
	s.scaleDown("m1")
	s.requireNodes("m2", "m2", "m3", "n1", "n2", "n3")
	s.requireMembers("m2", "m3")
	s.comeBack("m1")
	s.Must("verify")
}

// deadMaster cuts a master's power, removes it from the cluster, and adds the host
// again as a new one.
func deadMaster(s *site) {
	if err := s.Kill(s.T.Context(), "m2"); err != nil {
		s.T.Fatal(err)
	}
	s.Eventually(2*time.Minute, "the cluster notices the death of m2", func() error {
		if err := s.ready(); err == nil {
			return errNotReady("none yet")
		}
		return nil
	})
	s.runbook("dead-master", "")
	s.requireNodes("m1", "m1", "m3", "n1", "n2", "n3")
	s.requireMembers("m1", "m3")
	if err := s.Start(s.T.Context(), "m2"); err != nil {
		s.T.Fatal(err)
	}
	s.runbook("dead-master-returns", "")
	s.RequireReady(nodes)
	s.requireMembers(masters...)
}

// joinBesideDeadHost adds a minion while another one has no power: the new one takes
// pods, and the run names the host that it could not reach.
func joinBesideDeadHost(s *site) {
	s.scaleDown("n3")
	if err := s.Kill(s.T.Context(), "n2"); err != nil {
		s.T.Fatal(err)
	}
	s.Eventually(2*time.Minute, "the cluster notices the death of n2", func() error {
		if s.Kubectl("m1", "get node n2 -o 'jsonpath={.status.conditions[?(@.type==\"Ready\")].status}'") == "True" {
			return errNotReady("n2 is Ready")
		}
		return nil
	})
	o := s.Deployer("scale-up", "n3")
	s.RequireExit(o, partly)
	s.RequireTexts(o.All(), "n2")
	s.RequireSchedulable("n3", "after it joined beside a dead host")
	if err := s.Start(s.T.Context(), "n2"); err != nil {
		s.T.Fatal(err)
	}
	s.comeBack()
	s.unchanged("after the dead host came back")
}

// killedRemoval removes a master with a controller that is killed at every change. The
// command never ends with 0 while etcd has the member.
func killedRemoval(s *site) {
	removal := []string{"scale-down", "--yes", "--allow-masters", "m3"}
	s.killAtEveryChange(removal, removal)
	s.scaleDown("m3")
	s.requireMembers("m1", "m2")
	s.requireNodes("m1", "m1", "m2", "n1", "n2", "n3")
	s.comeBack("m3")
}

// minionsBecomeMasters turns two minions into masters and back into minions, while
// their pods keep running: etcd grows from three members to five and shrinks to
// three.
func minionsBecomeMasters(s *site) {
	good := s.inventory()
	more := []string{"m1", "m2", "m3", "n1", "n2"}
	s.DeployWeb()
	s.MoveWeb("n1")
	pods := s.WebPodsOn("n1")
	s.setRoles(more, []string{"n3"})
	s.Must("scale-up")
	s.RequireReady(nodes)
	s.requireMembers(more...)
	for _, n := range more {
		s.Shell(n, "pidof kube-apiserver && kubectl --kubeconfig /etc/kubernetes/admin.conf --server https://127.0.0.1:6443 get --raw /readyz")
		s.RequireSchedulable(n, "after two minions became masters")
	}
	if got := s.WebPodsOn("n1"); got != pods {
		s.T.Errorf("pods on n1: %s, before it became a master %s", got, pods)
	}
	s.RequireTexts(s.Must("scale-up").Stderr, "nothing to do")
	s.unchanged("as masters")

	removal := []string{"scale-down", "--yes", "--allow-masters", "--keep-node", "n1"}
	s.killAtEveryChange(removal, removal)
	s.scaleDown("--keep-node", "n1", "n2")
	s.requireMembers(masters...)
	s.setInventory(good)
	s.RequireReady(nodes)
	for _, n := range []string{"n1", "n2"} {
		s.RequireSchedulable(n, "after it became a minion again")
		if left := s.Shell(n, "pidof kube-apiserver etcd; find /etc/kubernetes /etc/etcd -name '*.key' 2>/dev/null | grep -E '/(ca|sa|front-proxy-ca|server|peer)[.]key$'; true"); left != "" {
			s.T.Errorf("%s: a minion has still: %s", n, left)
		}
	}
	if got := s.WebPodsOn("n1"); got != pods {
		s.T.Errorf("pods on n1: %s, before it was a minion again %s", got, pods)
	}
	s.unchanged("as minions again")
	s.RemoveWeb()
}
