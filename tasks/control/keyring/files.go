package keyring

import (
	"maps"
	"slices"
)

// The paths of the files on every master: those of kubeadm ("PKI certificates and
// requirements" of the Kubernetes documentation), the encryption configuration, and the
// password of the BGP sessions, which is optional. A file with the certificates of an
// authority has two of them during a rotation; the first one signs.
const (
	ClusterCert    = "/etc/kubernetes/pki/ca.crt"
	ClusterKey     = "/etc/kubernetes/pki/ca.key"
	EtcdCert       = "/etc/kubernetes/pki/etcd/ca.crt"
	EtcdKey        = "/etc/kubernetes/pki/etcd/ca.key"
	FrontProxyCert = "/etc/kubernetes/pki/front-proxy-ca.crt"
	FrontProxyKey  = "/etc/kubernetes/pki/front-proxy-ca.key"
	EtcdCalicoCert = "/etc/kubernetes/pki/etcd-calico/ca.crt"
	EtcdCalicoKey  = "/etc/kubernetes/pki/etcd-calico/ca.key"
	AccountKey     = "/etc/kubernetes/pki/sa.key"
	AccountPub     = "/etc/kubernetes/pki/sa.pub"
	EncryptionConf = "/etc/kubernetes/encryption.yaml"
	BGPPassword    = "/etc/kubernetes/bgp-password"
)

// The paths of certificate and key of the authorities that will sign after the next phase
// of a rotation. Masters have these files only then.
const (
	ClusterNext    = "/etc/kubernetes/pki/ca-next.pem"
	EtcdNext       = "/etc/kubernetes/pki/etcd/ca-next.pem"
	FrontProxyNext = "/etc/kubernetes/pki/front-proxy-ca-next.pem"
	EtcdCalicoNext = "/etc/kubernetes/pki/etcd-calico/ca-next.pem"
)

// ClusterSigning is the path of the cluster authority's certificate alone, without others
// that are trusted too. The controller manager signs with it, and takes no file with two
// certificates (kubernetes pkg/controller/certificates/signer/ca_provider.go).
const ClusterSigning = "/etc/kubernetes/pki/ca-signing.crt"

// Files are file contents by path.
type Files map[string][]byte

// Paths returns the paths of the files that make a keyring complete, in the order in which
// a host must write them. A key comes before its certificate, and the cluster's
// certificate is the last: a master without it has not completed this step, so its other
// missing files may still be created (see [Complete]).
func Paths() []string {
	return []string{
		EncryptionConf, BGPPassword,
		AccountKey, AccountPub,
		FrontProxyKey, FrontProxyCert,
		EtcdKey, EtcdCert,
		ClusterKey, ClusterCert,
	}
}

// createdPaths returns the paths of the files that [Complete] may create: those of [Paths], after those
// of authorities that not every cluster has.
func createdPaths() []string {
	return append([]string{EtcdCalicoKey, EtcdCalicoCert}, Paths()...)
}

// nextPaths returns the paths of next authorities.
func nextPaths() []string {
	return []string{EtcdCalicoNext, FrontProxyNext, EtcdNext, ClusterNext}
}

// keptPaths returns the paths of the files that masters keep: those of [createdPaths], and during
// a rotation the next authorities, which come first: no host trusts one whose key no
// master has.
func keptPaths() []string { return append(nextPaths(), createdPaths()...) }

// UnusedPaths returns the paths of next authorities that the keys do not have. A master may
// still have the file of one that signs by now.
func (k *Keys) UnusedPaths() []string {
	return slices.DeleteFunc(nextPaths(), func(path string) bool { return k.files[path] != nil })
}

// writtenPaths returns the paths of all files of a master, in the order in which a host
// must write them.
func writtenPaths() []string {
	paths := keptPaths()
	return slices.Insert(paths, len(paths)-1, ClusterSigning)
}

// public are the files that every user may read; all others are secret.
func public(path string) bool {
	return slices.Contains([]string{ClusterCert, ClusterSigning, EtcdCert, EtcdCalicoCert, FrontProxyCert, AccountPub}, path)
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
