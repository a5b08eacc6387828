package cluster_test

import (
	"slices"
	"testing"

	"deployer/cluster"

	"github.com/google/go-cmp/cmp"
)

// TestNodeCertificates: nodes that are no masters have a timer while the keeper and the authority of the cluster can
// answer them, and the keeper knows the users of their certificates.
func TestNodeCertificates(t *testing.T) {
	kubeProxy := cluster.KeeperNodeClient{CN: "system:kube-proxy", Orgs: []string{}}
	for name, tt := range map[string]struct {
		spec    cluster.Spec
		minions int
		renews  bool
		clients []cluster.KeeperNodeClient
	}{
		"by default":         {cluster.Spec{}, 2, true, []cluster.KeeperNodeClient{kubeProxy}},
		"masters only":       {cluster.Spec{}, 0, false, []cluster.KeeperNodeClient{}},
		"without kube-proxy": {cluster.Spec{KubeProxy: cluster.KubeProxySpec{Mode: cluster.KubeProxyNone}, Network: cluster.NetworkSpec{Plugin: cluster.PluginNone}}, 2, true, []cluster.KeeperNodeClient{}},
		"switched off":       {cluster.Spec{Keeper: cluster.KeeperSpec{Certificates: cluster.KeeperCertificatesSpec{Nodes: new(false)}}}, 2, false, []cluster.KeeperNodeClient{}},
		"no keeper":          {cluster.Spec{Keeper: cluster.KeeperSpec{Enabled: new(false)}}, 2, false, []cluster.KeeperNodeClient{}},
		"external authority": {cluster.Spec{Certificates: cluster.CertificatesSpec{External: cluster.ExternalAuthoritiesSpec{Cluster: "ca.crt"}}}, 2, false, []cluster.KeeperNodeClient{}},
		"Calico": {cluster.Spec{Network: cluster.NetworkSpec{Plugin: cluster.PluginCalico, Calico: cluster.CalicoSpec{Typha: cluster.TyphaAlways}}}, 2, true, []cluster.KeeperNodeClient{
			kubeProxy, {CN: cluster.UserCalicoNode, Orgs: []string{}}, {CN: cluster.UserCalicoCNI, Orgs: []string{}}, // Typha serves, too
		}},
		"Calico with etcd": {cluster.Spec{Network: cluster.NetworkSpec{Plugin: cluster.PluginCalico, Calico: cluster.CalicoSpec{Datastore: "etcd"}}}, 2, true, []cluster.KeeperNodeClient{
			kubeProxy, {CN: cluster.UserCalicoNode, Orgs: []string{}}, {CN: cluster.UserCalicoCNI, Orgs: []string{}},
		}},
	} {
		c := mustResolve(t, tt.spec, fleet(masters(1), minions(tt.minions)))
		for _, n := range c.Nodes {
			if n.RenewsCertificates != (tt.renews && !n.IsMaster) {
				t.Errorf("%s: %s renews its certificates: %t", name, n.Name, n.RenewsCertificates)
			}
			kept := slices.ContainsFunc(n.Owned, func(o cluster.Owned) bool { return slices.Contains(o.Keep, "deployer-certificates.timer") })
			if kept != n.RenewsCertificates {
				t.Errorf("%s: %s keeps the timer: %t", name, n.Name, kept)
			}
		}
		if diff := cmp.Diff(tt.clients, c.Keeper.NodeClients); diff != "" {
			t.Errorf("%s: -want +got:\n%s", name, diff)
		}
		if on := c.Keeper.Settings["certificates"].(map[string]any)["nodes"]; on != c.Keeper.NodeCertificates {
			t.Errorf("%s: the keeper approves: %v, and nodes ask: %t", name, on, c.Keeper.NodeCertificates)
		}
	}
}
