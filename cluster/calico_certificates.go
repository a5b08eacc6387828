package cluster

// The users by whose certificates Calico's programs reach the API, and Felix and Typha each other.
// Names of users are bound to rights in templates/calico-objects.
const (
	UserCalicoNode  = "deployer:calico-node"
	UserCalicoCNI   = "deployer:calico-cni"
	UserCalicoTypha = "deployer:calico-typha"
)

// Directories with the certificates and keys of Calico's programs.
const (
	dirCalicoNodePKI  = dirPKI + "/calico-node"
	dirCalicoCNIPKI   = dirPKI + "/calico-cni"
	dirCalicoTyphaPKI = dirPKI + "/calico-typha"
)

// The users of Calico's etcd cluster, which are the common names of certificates. The action etcd_users
// gives them their rights.
const (
	EtcdUserCalicoNode        = "calico-node"
	EtcdUserCalicoCNI         = "calico-cni"
	EtcdUserCalicoControllers = "calico-kube-controllers"
	EtcdUserCalicoctl         = "calicoctl"
)

const (
	certificateEtcdRoot     = "etcd-calico/root"
	dirCalicoControllersPKI = dirPKI + "/calico-controllers"
)

// OptionalAuthorities returns the names of the authorities that the cluster has and others do not.
func (c *Cluster) OptionalAuthorities() []string {
	if c.EtcdCalico == nil {
		return nil
	}
	return []string{AuthorityEtcdCalico}
}

// UsesCalicoEtcd reports whether a host has a member or a client of Calico's etcd cluster.
func (c *Cluster) UsesCalicoEtcd(n Node) bool {
	return c.EtcdCalico != nil && (n.IsEtcd || n.RunsCalico || n.RunsAPIServer)
}

// calicoEtcdCertificates returns the certificates of a member of Calico's etcd cluster, and that of root,
// with which snapshots are made; none on other hosts.
func calicoEtcdCertificates(n Node) []Certificate {
	if n.EtcdCalico == nil {
		return nil
	}
	server := leaf(AuthorityEtcdCalico, "etcd-calico/server", n.Name, "server", "client")
	peer := leaf(AuthorityEtcdCalico, "etcd-calico/peer", n.Name, "server", "client")
	server.DNS, server.IPs = localSANs(n)
	peer.DNS, peer.IPs = localSANs(n)
	ofMember(dirEtcdCalicoPKI, &server, &peer)
	return []Certificate{server, peer, leaf(AuthorityEtcdCalico, certificateEtcdRoot, EtcdRoot, "client")}
}

// calicoCertificates returns the certificates of a node's programs of Calico. Its controllers run on
// masters, where their certificate is a file, when they use etcd.
func calicoCertificates(c *Cluster, n Node) []Certificate {
	if !n.RunsCalico {
		return nil
	}
	out := []Certificate{
		leaf(AuthorityCluster, "calico-node", UserCalicoNode, "client").in(dirCalicoNodePKI),
		leaf(AuthorityCluster, "calico-cni", UserCalicoCNI, "client").in(dirCalicoCNIPKI),
	}
	if n.RunsTypha {
		typha := leaf(AuthorityCluster, "calico-typha", UserCalicoTypha, "server", "client").in(dirCalicoTyphaPKI)
		typha.DNS, typha.IPs = localSANs(n)
		out = append(out, typha)
	}
	if c.EtcdCalico == nil {
		return out
	}
	client := func(name, user string) Certificate { return leaf(AuthorityEtcdCalico, name, user, "client") }
	out = append(out, client("calico-node-etcd", EtcdUserCalicoNode).in(dirCalicoNodePKI), client("calico-cni-etcd", EtcdUserCalicoCNI).in(dirCalicoCNIPKI))
	if n.RunsAPIServer {
		out = append(out, client("calico-controllers-etcd", EtcdUserCalicoControllers).in(dirCalicoControllersPKI), client("etcd-calico/calicoctl", EtcdUserCalicoctl))
	}
	return out
}
