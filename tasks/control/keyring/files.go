package keyring

import (
	"maps"
	"slices"
)

// Where the files are, below / on every master. They are the places that
// kubeadm uses ("PKI certificates and requirements" of the Kubernetes
// documentation), and two more: the encryption configuration, and the password of
// the BGP sessions, which a cluster may be without.
const (
	ClusterCert    = "/etc/kubernetes/pki/ca.crt"
	ClusterKey     = "/etc/kubernetes/pki/ca.key"
	EtcdCert       = "/etc/kubernetes/pki/etcd/ca.crt"
	EtcdKey        = "/etc/kubernetes/pki/etcd/ca.key"
	FrontProxyCert = "/etc/kubernetes/pki/front-proxy-ca.crt"
	FrontProxyKey  = "/etc/kubernetes/pki/front-proxy-ca.key"
	AccountKey     = "/etc/kubernetes/pki/sa.key"
	AccountPub     = "/etc/kubernetes/pki/sa.pub"
	EncryptionConf = "/etc/kubernetes/encryption.yaml"
	BGPPassword    = "/etc/kubernetes/bgp-password"
)

// Files are file contents by path.
type Files map[string][]byte

// Paths returns the paths of all files of a keyring, in the order in which a
// host must write them. A key comes before its certificate, and the cluster's
// certificate is last of all: a master without it never got past this step,
// so what else it lacks may still be made anew (see [Complete]).
func Paths() []string {
	return []string{
		EncryptionConf, BGPPassword,
		AccountKey, AccountPub,
		FrontProxyKey, FrontProxyCert,
		EtcdKey, EtcdCert,
		ClusterKey, ClusterCert,
	}
}

// public tells the files that anyone may read; all others are secret.
func public(path string) bool {
	return slices.Contains([]string{ClusterCert, EtcdCert, FrontProxyCert, AccountPub}, path)
}

// Mode is the mode of a file of the keyring: 0644 for certificates and public
// keys, 0600 for the rest.
func Mode(path string) string {
	if public(path) {
		return "0644"
	}
	return "0600"
}

// Clone returns a copy that shares no map with f.
func (f Files) Clone() Files { return maps.Clone(f) }
