package control

import (
	"net"
	"slices"

	"deployer/cluster"
	"deployer/tasks/control/keyring"
)

// wantedBy returns the cluster's table of certificates, for signing.
func wantedBy(c *cluster.Cluster) keyring.Wanted {
	return func(host, name string) (keyring.Certificate, bool) {
		for _, cert := range cluster.Certificates(c, host) {
			if cert.Name == name {
				spec := specOf(cert)
				spec.Validity = c.Certificates.Leaf
				return spec, true
			}
		}
		return keyring.Certificate{}, false
	}
}

func specOf(cert cluster.Certificate) keyring.Certificate {
	spec := keyring.Certificate{
		Name:          cert.Name,
		Authority:     cert.Authority,
		CommonName:    cert.CN,
		Organizations: cert.Orgs,
		DNSNames:      cert.DNS,
		Server:        slices.Contains(cert.Usages, "server"),
		Client:        slices.Contains(cert.Usages, "client"),
	}
	for _, text := range cert.IPs {
		if ip := net.ParseIP(text); ip != nil {
			spec.IPs = append(spec.IPs, ip)
		}
	}
	return spec
}

// shareOf returns which keys of the keyring a host needs; none for a host outside of
// the cluster.
func shareOf(c *cluster.Cluster) func(host string) keyring.Share {
	return func(host string) keyring.Share {
		n := c.Nodes[host]
		return keyring.Share{Master: n.RunsAPIServer, Etcd: n.IsEtcd, API: n.IsNode || n.ProxyTLS.Used(), Calico: c.UsesCalicoEtcd(n)}
	}
}
