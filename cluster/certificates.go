package cluster

import (
	"fmt"
	"net/netip"
	"path"
	"slices"
)

// The authorities that sign certificates, one for each domain of trust.
const (
	AuthorityCluster    = "cluster"
	AuthorityEtcd       = "etcd"
	AuthorityFrontProxy = "front-proxy"
	AuthorityEtcdCalico = "etcd-calico" // of the etcd cluster of Calico, where there is one
)

// The paths of the files: kubeadm's
// (kubernetes.io/docs/setup/best-practices/certificates), except for the certificates of
// static pods.
const (
	dirKubernetes = "/etc/kubernetes"
	dirPKI        = dirKubernetes + "/pki"
	dirKubeletPKI = "/var/lib/kubelet/pki"

	// Directories with the certificates and keys of one static pod.
	dirAPIServerPKI         = dirPKI + "/apiserver"
	dirControllerManagerPKI = dirPKI + "/controller-manager"
	dirSchedulerPKI         = dirPKI + "/scheduler"
	dirKubeProxyPKI         = dirPKI + "/kube-proxy"

	// The files of the user etcd are outside of /etc/kubernetes/pki, where all files belong
	// to root (CIS 1.1.19). The CA certificate there is readable by every user.
	dirEtcdPKI       = "/etc/etcd/pki"
	dirEtcdCalicoPKI = dirEtcdPKI + "/calico" // of members of Calico's etcd cluster
)

// UserEtcd is the user and the group of the etcd process.
const UserEtcd = "etcd"

// AdminGroup is the group of the admin certificate. A ClusterRoleBinding gives it
// rights that can be revoked; the rights of system:masters cannot be revoked.
const AdminGroup = "deployer:cluster-admins"

// The certificates by which the controller reaches API servers and etcd when it cannot sign
// one for itself, because the authority is external.
const (
	CertificateSuperAdmin  = "super-admin" // as that of kubeadm
	CertificateHealthcheck = "etcd/healthcheck-client"
)

// userKubeletClient is the API server's user at the kubelets. As with AdminGroup, a
// binding gives it its rights.
const userKubeletClient = "kube-apiserver-kubelet-client"

// Certificate is a leaf certificate that a host may have. The host creates the key; the
// rest of the certificate is decided here, never by the host's request.
type Certificate struct {
	Name      string   `json:"name"`      // name of the certificate, unique on the host; signing requests refer to it
	Authority string   `json:"authority"` // authority that signs the certificate: cluster, etcd, front-proxy or etcd-calico
	CN        string   `json:"cn"`        // common name of the subject
	Orgs      []string `json:"orgs"`      // organizations of the subject, which are groups for Kubernetes
	DNS       []string `json:"dns"`       // DNS names that the certificate is valid for
	IPs       []string `json:"ips"`       // addresses that the certificate is valid for
	Usages    []string `json:"usages"`    // extended key usages: server, client
	CertPath  string   `json:"cert_path"` // path of the certificate on the host
	KeyPath   string   `json:"key_path"`  // path of the key on the host; mode 0600
	CAPath    string   `json:"ca_path"`   // path of the authority's certificate on the host
	Owner     string   `json:"owner"`     // user that owns the files; empty: root
	Rotated   string   `json:"rotated"`   // path of a file with certificate and key that the program renews itself and prefers; empty: none
	// IssuedBefore is the time before which the one on the host was issued when an external
	// authority has issued a newer one; empty without one.
	IssuedBefore string `json:"issued_before,omitempty"`
}

// CAPath returns the path of an authority's certificate on a host.
func CAPath(authority string) string {
	switch authority {
	case AuthorityEtcd:
		return dirPKI + "/etcd/ca.crt"
	case AuthorityFrontProxy:
		return dirPKI + "/front-proxy-ca.crt"
	case AuthorityEtcdCalico:
		return dirPKI + "/etcd-calico/ca.crt"
	default:
		return dirPKI + "/ca.crt"
	}
}

// Certificates lists the leaf certificates of a host, in a fixed order. The list is
// the only source of certificates that a host may get: a name that is not in the list
// is refused. An unknown host gets none.
//
// Names, subjects and usages are kubeadm's (kubernetes.io/docs/setup/
// best-practices/certificates, "All certificates"), except that the clients of
// the API have certificate files of their own, because kubeconfigs refer to
// files instead of holding copies. Static pods have a directory each for their
// certificates, which is all of the keys that they see.
func Certificates(c *Cluster, host string) []Certificate {
	n, ok := c.Nodes[host]
	if !ok {
		return nil
	}
	out := []Certificate{}
	if n.RunsAPIServer {
		out = append(out, masterCertificates(c, n)...)
	}
	if n.IsEtcd {
		out = append(out, etcdCertificates(n)...)
		out = append(out, calicoEtcdCertificates(n)...)
	}
	if n.IsNode {
		out = append(out, nodeCertificates(c, n)...)
	}
	return out
}

// authorityCertificates returns the paths of the certificates of authorities that a host
// has: all on masters, elsewhere those that its components verify with.
func authorityCertificates(c *Cluster, n Node) []string {
	out := []string{}
	if n.IsNode {
		out = append(out, CAPath(AuthorityCluster))
	}
	if n.IsEtcd || n.RunsAPIServer {
		out = append(out, CAPath(AuthorityEtcd))
	}
	if n.RunsAPIServer {
		out = append(out, CAPath(AuthorityFrontProxy))
	}
	if c.UsesCalicoEtcd(n) {
		out = append(out, CAPath(AuthorityEtcdCalico))
	}
	return out
}

func masterCertificates(c *Cluster, n Node) []Certificate {
	names, ips := apiServerSANs(c, n)
	server := leaf(AuthorityCluster, "apiserver", "kube-apiserver", "server").in(dirAPIServerPKI)
	server.DNS, server.IPs = names, ips
	admin := leaf(AuthorityCluster, "admin", "kubernetes-admin", "client")
	admin.Orgs = []string{c.AdminGroup}
	out := []Certificate{
		server,
		leaf(AuthorityCluster, "apiserver-kubelet-client", userKubeletClient, "client").in(dirAPIServerPKI),
		leaf(AuthorityEtcd, "apiserver-etcd-client", "kube-apiserver-etcd-client", "client").in(dirAPIServerPKI),
		leaf(AuthorityFrontProxy, "front-proxy-client", "front-proxy-client", "client").in(dirAPIServerPKI),
		leaf(AuthorityCluster, "controller-manager", "system:kube-controller-manager", "client").in(dirControllerManagerPKI),
		leaf(AuthorityCluster, "scheduler", "system:kube-scheduler", "client").in(dirSchedulerPKI),
		admin,
	}
	if c.External(AuthorityCluster) {
		super := leaf(AuthorityCluster, CertificateSuperAdmin, "kubernetes-super-admin", "client")
		super.Orgs = []string{"system:masters"}
		out = append(out, super)
	}
	return append(out, keeperCertificates(c)...)
}

// etcdCertificates returns the certificates of an etcd host. The server certificate has
// the client usage too, because etcd's gateway dials itself with it (etcd-io/etcd#9785).
func etcdCertificates(n Node) []Certificate {
	server := leaf(AuthorityEtcd, "etcd/server", n.Name, "server", "client")
	peer := leaf(AuthorityEtcd, "etcd/peer", n.Name, "server", "client")
	server.DNS, server.IPs = localSANs(n)
	peer.DNS, peer.IPs = localSANs(n)
	ofMember(dirEtcdPKI, &server, &peer)
	health := leaf(AuthorityEtcd, CertificateHealthcheck, "kube-etcd-healthcheck-client", "client")
	return []Certificate{server, peer, health}
}

// ofMember gives the certificates of a member of etcd to its user, in a directory of its own.
func ofMember(dir string, server, peer *Certificate) {
	for file, cert := range map[string]*Certificate{"server": server, "peer": peer} {
		cert.CertPath, cert.KeyPath = dir+"/"+file+".crt", dir+"/"+file+".key"
		cert.Owner = UserEtcd
	}
}

func nodeCertificates(c *Cluster, n Node) []Certificate {
	identity := "system:node:" + n.Name
	client := leaf(AuthorityCluster, "kubelet-client", identity, "client")
	client.Orgs = []string{"system:nodes"}
	if !c.External(AuthorityCluster) {
		client.Rotated = dirKubeletPKI + "/kubelet-client-current.pem"
	}
	serving := leaf(AuthorityCluster, "kubelet-serving", identity, "server")
	serving.Orgs = []string{"system:nodes"}
	serving.DNS, serving.IPs = localSANs(n)
	serving.IPs = unique(append(serving.IPs, n.IPs...))
	out := []Certificate{client.in(dirKubeletPKI), serving.in(dirKubeletPKI)}
	if n.RunsKubeProxy {
		out = append(out, leaf(AuthorityCluster, "kube-proxy", "system:kube-proxy", "client").in(dirKubeProxyPKI))
	}
	return append(out, calicoCertificates(c, n)...)
}

// leaf returns a certificate without names, at kubeadm's path.
func leaf(authority, name, cn string, usages ...string) Certificate {
	return Certificate{
		Name:      name,
		Authority: authority,
		CN:        cn,
		Orgs:      []string{},
		DNS:       []string{},
		IPs:       []string{},
		Usages:    usages,
		CertPath:  fmt.Sprintf("%s/%s.crt", dirPKI, name),
		KeyPath:   fmt.Sprintf("%s/%s.key", dirPKI, name),
		CAPath:    CAPath(authority),
		Owner:     "root",
	}
}

// in returns the certificate with its files in a directory.
func (c Certificate) in(dir string) Certificate {
	c.CertPath = fmt.Sprintf("%s/%s.crt", dir, c.Name)
	c.KeyPath = fmt.Sprintf("%s/%s.key", dir, c.Name)
	return c
}

// formerFiles are the earlier paths of the certificates and keys of static pods, which
// nothing reads any more.
func formerFiles(certificates []Certificate) []string {
	own := []string{dirAPIServerPKI, dirControllerManagerPKI, dirSchedulerPKI, dirKubeProxyPKI}
	out := []string{}
	for _, c := range certificates {
		if slices.Contains(own, path.Dir(c.CertPath)) {
			former := c.in(dirPKI)
			out = append(out, former.CertPath, former.KeyPath)
		}
	}
	return out
}

// localSANs returns the names and addresses of a host, for its neighbours and for
// itself.
func localSANs(n Node) (names, ips []string) {
	return []string{n.Name, "localhost"}, unique([]string{n.IP, "127.0.0.1", "::1"})
}

// apiServerSANs returns the names of the host, of the Service, of the external proxies
// in front of the API, and the user's; external addresses of host and proxies are among them. All masters have the same list except for their
// own host, so that each can answer for any name.
func apiServerSANs(c *Cluster, n Node) (names, ips []string) {
	names, ips = localSANs(n)
	names = append(names, "kubernetes", "kubernetes.default", "kubernetes.default.svc")
	for _, domain := range c.DNS.domains() {
		names = append(names, "kubernetes.default.svc."+domain)
	}
	ips = append(ips, n.IPs...)
	ips = append(ips, nthAddresses(c.ServiceCIDRs, 1)...)
	further := append([]string{n.ExternalAddress, c.API.EndpointHost, c.API.VirtualIP.Address}, c.API.VirtualIP.Former...)
	for _, p := range c.Proxies {
		names = append(names, p)
		ips = append(ips, c.Nodes[p].IPs...)
		further = append(further, c.Nodes[p].ExternalAddress)
	}
	for _, san := range append(further, c.API.SANs...) {
		if a, err := netip.ParseAddr(san); err == nil {
			ips = append(ips, a.String())
		} else if san != "" {
			names = append(names, san)
		}
	}
	return unique(names), unique(ips)
}

// unique removes duplicates and keeps the order.
func unique(in []string) []string {
	out := []string{}
	for _, s := range in {
		if !slices.Contains(out, s) {
			out = append(out, s)
		}
	}
	return out
}
