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

// TestUpgradeOfCalico changes the version of Calico in a cluster in use, while pods of all nodes ping each
// other: none is lost. A version whose calico-node never becomes ready reaches one node, which gets its
// former version back. deployer upgrade moves all nodes, deployer rollback takes that back, and an earlier
// minor version is refused.
func TestUpgradeOfCalico(t *testing.T) {
	for _, datastore := range []string{"kubernetes", "etcd"} {
		t.Run(datastore, func(t *testing.T) { upgradeOfCalico(t, datastore) })
	}
}

func upgradeOfCalico(t *testing.T, datastore string) {
	scenario(t)
	const older, newer, broken = "v3.28.3", builtCalico, "v3.28.5"
	s := harness.New(t, "networks", plan.Spec{Masters: 1, Minions: 3})
	calicoVersions(s, []string{older}, []string{broken})
	version := func(v string) {
		s.Edit(func(inv map[string]any) { harness.Section(inv, "cluster", "versions")["calico"] = v })
	}
	s.Edit(func(inv map[string]any) {
		harness.Section(inv, "cluster", "network")["plugin"] = "calico"
		calico := harness.Section(inv, "cluster", "network", "calico")
		calico["datastore"] = datastore
		if datastore == "kubernetes" { // with etcd there is no Typha
			calico["typha"] = "always"
		}
	})
	version(older)
	s.Must("install")
	nodes := []string{"m1", "n1", "n2", "n3"}
	startPods(s)
	requireCalicoVersion(s, older, nodes)
	pings := startMesh(s, nodes)
	pings.require(t, "before")

	version(broken)
	o := s.Deployer("install")
	if o.Code == 0 {
		t.Fatalf("a version that does not become ready is installed:\n%s", o.All())
	}
	t.Logf("the broken version: exit %d", o.Code)
	requireImages(s, "calico-node", older)
	requireControllers(s, older)
	pings.require(t, "after a broken version")
	version(older)
	s.Must("install") // Typha, which serves with the broken version, too
	requireCalicoVersion(s, older, nodes)

	version(newer)
	s.Must("upgrade")
	requireCalicoVersion(s, newer, nodes)
	pings.require(t, "after the upgrade")
	s.RequireTexts(s.Must("install").All(), "0 changed")
	s.Must("verify")

	s.Must("rollback", "--yes")
	requireImages(s, "calico-node", older)
	requireImages(s, "calico-typha", older) // none with etcd
	version(older)
	s.Must("install") // the controllers, which are objects
	requireCalicoVersion(s, older, nodes)
	pings.require(t, "after the rollback")

	version(newer)
	s.Must("install")
	requireCalicoVersion(s, newer, nodes)
	pings.require(t, "at the end")
	sent, lost := pings.end(t)
	total.pinged(sent, lost)
	t.Logf("upgrade of calico pings=%d lost=%d", sent, lost)
	if lost > 0 || sent < 1000 {
		t.Errorf("%d of %d pings were lost, want none of at least 1000", lost, sent)
	}
	if err := errors.Join(pings.errors...); err != nil {
		t.Error(err)
	}

	// As if the cluster had been upgraded to the next minor version before.
	s.Shell("n1", "sed -i 's/calico\\/node:v3.28.4/calico\\/node:v3.29.1/; s/calico\\/cni:v3.28.4/calico\\/cni:v3.29.1/' /etc/kubernetes/manifests/calico-node.yaml")
	down := s.Deployer("install")
	s.RequireExit(down, refused)
	s.RequireTexts(down.All(), "nodes run up to v3.29.1: n1")
}

// requireCalicoVersion requires that all programs of Calico in the cluster have a version.
func requireCalicoVersion(s *harness.Site, want string, nodes []string) {
	s.T.Helper()
	if got := requireImages(s, "calico-node", want); got != len(nodes) {
		s.T.Errorf("%d pods of calico-node, want %d", got, len(nodes))
	}
	requireImages(s, "calico-typha", want)
	requireControllers(s, want)
}

// requireControllers requires that the controllers of Calico have a version.
func requireControllers(s *harness.Site, want string) {
	s.T.Helper()
	if out := s.Kubectl("m1", "-n kube-system get deployment calico-kube-controllers -o 'jsonpath={.spec.template.spec.containers[0].image}'"); !strings.HasSuffix(out, ":"+want) {
		s.T.Errorf("the controllers have the image %s, want %s", out, want)
	}
}

// requireImages requires that the static pods of an app run with images of a version, and returns how many
// there are. The name is that of the specification: two versions of these scenarios have one digest.
func requireImages(s *harness.Site, app, want string) (pods int) {
	s.T.Helper()
	out := s.Kubectl("m1", fmt.Sprintf(`-n kube-system get pods -l k8s-app=%s -o 'jsonpath={range .items[*]}{.spec.nodeName} {.spec.containers[0].image} {.status.containerStatuses[0].ready}{"\n"}{end}'`, app))
	for line := range strings.Lines(strings.TrimSpace(out)) {
		pods++
		if !strings.Contains(line, ":"+want) {
			s.T.Errorf("%s: %q, want %s", app, line, want)
		}
	}
	return pods
}
