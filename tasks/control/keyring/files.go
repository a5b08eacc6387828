package keyring

import (
	"maps"
	"slices"
)

// The paths of the files on every master: those of kubeadm ("PKI certificates and
// requirements" of the Kubernetes documentation), the encryption configuration, and the
// password of the BGP sessions, which is optional.
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

// Paths returns the paths of all files of a keyring, in the order in which a host must
// write them. A key comes before its certificate, and the cluster's certificate is the
// last: a master without it has not completed this step, so its other missing files may
// still be created anew (see [Complete]).
func Paths() []string {
	return []string{
		EncryptionConf, BGPPassword,
		AccountKey, AccountPub,
		FrontProxyKey, FrontProxyCert,
		EtcdKey, EtcdCert,
		ClusterKey, ClusterCert,
	}
}

// public are the files that every user may read; all others are secret.
func public(path string) bool {
	return slices.Contains([]string{ClusterCert, EtcdCert, FrontProxyCert, AccountPub}, path)
}

// Mode returns the mode of a file of the keyring: 0644 for certificates and public keys,
// 0600 for the rest.
func Mode(path string) string {
	if public(path) {
		return "0644"
	}
	return "0600"
}

// Clone returns a copy that shares no map with f.
func (f Files) Clone() Files { return maps.Clone(f) }
