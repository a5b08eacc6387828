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

// calicoCertificates returns the certificates of a node's programs of Calico.
func calicoCertificates(n Node) []Certificate {
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
	return out
}
