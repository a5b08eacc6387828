//go:build lab

package lifecycle

import (
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/google/go-cmp/cmp"

	"deployer/test/harness"
	"deployer/test/lab/plan"
)

// newer is the version of Kubernetes to which the cluster is upgraded.
const newer = plan.Kubernetes

// setVersion sets the version of Kubernetes in the inventory, also for the following
// scenarios.
func (s *site) setVersion(version string) {
	s.T.Helper()
	s.Edit(func(inv map[string]any) { harness.Section(inv, "cluster")["kubernetes"] = version })
	s.suite.full = s.inventory()
}

// olderCluster installs the full cluster with the older version, or rolls an upgrade
// back, whichever controllers ran it.
func olderCluster(s *site) {
	s.fullCluster()
	if s.kubelets()["n1"] == newer {
		s.Must("rollback", "--from-hosts", "--yes", "--lower-minor")
		s.setVersion(older)
	}
}

// newerCluster upgrades the full cluster to the newer version.
func newerCluster(s *site) {
	s.fullCluster()
	if s.kubelets()["n1"] == older {
		s.Must("upgrade", "--to", newer, "--batch-size", "2")
		s.setVersion(newer)
	}
}

// kubelets returns the version of each node's kubelet.
func (s *site) kubelets() map[string]string {
	s.T.Helper()
	out := map[string]string{}
	for line := range strings.Lines(s.Kubectl("m1", `get nodes -o 'jsonpath={range .items[*]}{.metadata.name} {.status.nodeInfo.kubeletVersion}{"\n"}{end}'`)) {
		name, version, _ := strings.Cut(strings.TrimSpace(line), " ")
		out[name] = version
	}
	return out
}

// requireKubelets checks that all kubelets have a version.
func (s *site) requireKubelets(want string) {
	s.T.Helper()
	all := map[string]string{}
	for _, n := range nodes {
		all[n] = want
	}
	if diff := cmp.Diff(all, s.kubelets()); diff != "" {
		s.T.Errorf("versions of the kubelets (-want +got):\n%s", diff)
	}
}

// requireAPIServers checks the version of each master's API server.
func (s *site) requireAPIServers(want string) {
	s.T.Helper()
	for _, m := range masters {
		if got := s.Kubectl(m, "--server https://127.0.0.1:6443 get --raw /version"); !strings.Contains(got, `"`+want+`"`) {
			s.T.Errorf("the API server of %s is %s, want %s", m, got, want)
		}
	}
}

// requireUncordoned checks that no node is cordoned.
func (s *site) requireUncordoned(when string) {
	s.T.Helper()
	for _, n := range nodes {
		s.RequireSchedulable(n, when)
	}
}

// apiserverOnly upgrades only the API servers, which restarts nothing on any minion
// and moves no pod, and rolls that back.
func apiserverOnly(s *site) {
	before := s.processes(minions...)
	s.Must("upgrade", "--to", newer, "--only", "kube-apiserver")
	s.requireAPIServers(newer)
	s.requireKubelets(older)
	s.Must("rollback", "--yes", "--lower-minor")
	s.requireAPIServers(older)
	s.requireProcesses(before, "with the upgrade and its rollback")
	s.unchanged("after the rollback")
}

// upgradeAll upgrades all components, with drained nodes, after install has refused
// the new version.
func upgradeAll(s *site) {
	good := s.inventory()
	s.setVersion(newer)
	o := s.Deployer("install")
	if o.Code == 0 {
		s.T.Errorf("install has upgraded the cluster:\n%s", o.All())
	}
	s.RequireTexts(o.All(), "deployer upgrade")
	s.setInventory(good)
	file := filepath.Join(s.T.TempDir(), "rollout.yaml")
	if err := os.WriteFile(file, []byte("steps: [{hosts: n3}, {parallel: [{hosts: n2}, {hosts: n1}]}]\nbatch_size: 2\n"), 0o600); err != nil {
		s.T.Fatal(err)
	}
	s.RequireTexts(s.Must("upgrade", "plan", "--to", newer, "--rollout", file).Stdout, "step 1: n3\n", "step 2: n2\n", "beside it: n1\n")
	s.Must("upgrade", "--to", newer, "--rollout", file)
	s.setVersion(newer)
	s.requireAPIServers(newer)
	s.requireKubelets(newer)
	s.requireUncordoned("after the upgrade")
	s.unchanged("after the upgrade")
}

// rollbackAborted rolls the upgrade back. The rollback is interrupted and continued.
func rollbackAborted(s *site) {
	u := s.StartRun("rollback", "--yes", "--lower-minor")
	u.Until("the first change", changed)
	o := u.Interrupt()
	s.RequireExit(o, 130)
	s.requireUncordoned("after the interrupt")
	s.Must("resume")
	s.setVersion(older)
	s.requireAPIServers(older)
	s.requireKubelets(older)
	s.requireUncordoned("after the rollback")
	s.unchanged("after the rollback")
}

// upgradeKilled kills the controller of an upgrade at random instants. Each time another
// controller, which has the inventory and the key but no logs, resumes the upgrade.
func upgradeKilled(s *site) {
	s.T.Logf("seed %d", *seed)
	u := s.OtherController().StartRun("upgrade", "--to", newer, "--batch-size", "2")
	u.Until("the first change", changed)
	u.Kill()
	killed, code := 1, -1
	for ; killed < *kills && code != 0; killed++ {
		after := 5*time.Second + time.Duration(s.suite.random.Int64N(int64(25*time.Second)))
		if code = s.OtherController().KillAfter(after, "resume", "--from-hosts", "--yes"); code > 0 {
			s.T.Fatalf("resume ended with %d, want that it is killed or ends with 0", code)
		}
	}
	s.T.Logf("the controller was killed %d times", killed)
	if code != 0 {
		s.OtherController().Must("resume", "--from-hosts", "--yes")
	}
	s.setVersion(newer)
	s.requireAPIServers(newer)
	s.requireKubelets(newer)
	s.requireUncordoned("after the upgrade")
	s.requireMembers(masters...)
	s.unchanged("after the upgrade")
}
