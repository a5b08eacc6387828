package cluster

import "slices"

// The files of a node that is no master and renews its certificates. The program is the agent's.
const (
	unitCertificates = "deployer-certificates"
	fileCertificates = "node-certificates.yaml"
)

// KeeperNodeClient is a user whose certificate nodes renew.
type KeeperNodeClient struct {
	CN   string   `json:"cn"`   // common name of the certificate
	Orgs []string `json:"orgs"` // its organizations
}

// nodeClients returns the users whose certificates nodes renew that are no masters, in the order of the table. The
// certificate of a kubelet is none of them: it is the identity of a node, and the kubelet renews it.
func nodeClients(c *Cluster) []KeeperNodeClient {
	out := []KeeperNodeClient{}
	for _, name := range c.Order {
		if !c.Nodes[name].RenewsCertificates {
			continue
		}
		for _, cert := range c.Nodes[name].Certificates {
			known := slices.ContainsFunc(out, func(k KeeperNodeClient) bool { return k.CN == cert.CN && slices.Equal(k.Orgs, cert.Orgs) })
			if cert.Authority == AuthorityCluster && cert.Rotated == "" && slices.Equal(cert.Usages, []string{"client"}) && !known {
				out = append(out, KeeperNodeClient{cert.CN, cert.Orgs})
			}
		}
	}
	return out
}

// checkNodeCertificates refuses a setting without an effect.
func (c *checker) checkNodeCertificates() {
	const key = "cluster.keeper.certificates.nodes"
	switch {
	case !c.nodeCertificates:
	case !*c.spec.Keeper.Enabled:
		c.add("bad-keeper", key, "nodes renew nothing, because cluster.keeper.enabled is false and nobody approves their requests: remove one of the two")
	case c.spec.Certificates.External.Cluster != "":
		c.add("bad-keeper", key, "nodes renew nothing, because authority cluster is external and nobody in the cluster signs: remove the setting")
	}
}
