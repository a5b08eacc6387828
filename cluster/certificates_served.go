package cluster

// ServedCertificate is a certificate that a process of a host serves.
type ServedCertificate struct {
	Name    string // name in the table of certificates
	Path    string // path on the host
	Address string // host:port of the listener, as seen from the host
}

// ServedCertificates lists the certificates that the processes of a host serve. The other
// ones are those of clients.
func ServedCertificates(c *Cluster, host string) []ServedCertificate {
	n := c.Nodes[host]
	ports := map[string]int{"etcd/server": portEtcdClient, "etcd/peer": portEtcdPeer, "apiserver": c.API.Port, "kubelet-serving": portKubelet}
	var out []ServedCertificate
	for _, cert := range n.Certificates {
		if port := ports[cert.Name]; port != 0 {
			out = append(out, ServedCertificate{Name: cert.Name, Path: cert.CertPath, Address: hostPort(n.IP, port)})
		}
	}
	return out
}
