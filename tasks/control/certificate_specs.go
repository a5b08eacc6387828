package control

import (
	"deployer/cluster"
	"deployer/tasks/control/keyring"
)

// wantedBy returns the cluster's table of certificates, for signing.
func wantedBy(c *cluster.Cluster) keyring.Wanted {
	return func(host, name string) (keyring.Certificate, bool) {
		for _, cert := range cluster.Certificates(c, host) {
			if cert.Name == name {
				spec := keyring.SpecOf(cert)
				spec.Validity = c.Certificates.Leaf
				return spec, true
			}
		}
		return keyring.Certificate{}, false
	}
}

// shareOf returns which keys of the keyring a host needs; none for a host outside of
// the cluster.
func shareOf(c *cluster.Cluster) func(host string) keyring.Share {
	return func(host string) keyring.Share {
		n := c.Nodes[host]
		return keyring.Share{Master: n.RunsAPIServer, Etcd: n.IsEtcd, API: n.IsNode || n.ProxyTLS.Used(), Calico: c.UsesCalicoEtcd(n)}
	}
}
