package keyring

import (
	"crypto/tls"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	"deployer/engine"
)

// Keys are the complete keys of one cluster. A Keys is immutable.
type Keys struct {
	authorities map[string]*Authority
	files       Files
	external    External
	made        []string // paths of the files that no master had
}

// Authority returns the certificate authority with the name [Cluster], [Etcd],
// [FrontProxy] or [EtcdCalico]. It fails for any other name, and for an authority that the cluster
// does not have.
func (k *Keys) Authority(name string) (*Authority, error) {
	a, ok := k.authorities[name]
	if !ok {
		return nil, fmt.Errorf("there is no certificate authority %q; the cluster has %s", name, strings.Join(slices.Sorted(maps.Keys(k.authorities)), ", "))
	}
	return a, nil
}

// Has reports whether the cluster has an authority.
func (k *Keys) Has(name string) bool { return k.authorities[name] != nil }

// Files returns a copy of the files that the masters keep.
func (k *Keys) Files() Files { return k.files.Clone() }

// written returns the files that every master must have: those that it keeps, and the
// certificate of the cluster authority alone, unless that is external and signs nothing
// there.
func (k *Keys) written() Files {
	files := k.files.Clone()
	if authority := k.authorities[Cluster]; !authority.External() {
		files[ClusterSigning] = encodeCert(authority.Cert.Raw)
	}
	return files
}

// Keyring stores the keys of a run in memory. The program that starts the run provides
// an empty Keyring as a service, the action `ca_load` fills it, and signing and the
// clients of etcd and Kubernetes use it. A Keyring is safe for concurrent use.
type Keyring struct {
	mu         sync.RWMutex
	keys       *Keys
	identities map[string]*tls.Certificate // of the controller, by external authority
}

// Of returns the keyring of the run that an action belongs to. Of fails when the program that
// started the run provides none.
func Of(actx engine.ActionContext) (*Keyring, error) {
	ring, ok := engine.Service[*Keyring](actx.Services())
	if !ok {
		return nil, errors.New("the program that started this run provides no keyring")
	}
	return ring, nil
}

// ErrEmpty reports that the keys are not loaded.
var ErrEmpty = errors.New("the cluster's keys are not loaded yet; the task `ca_load` must come first")

// Keys returns the keys, or ErrEmpty.
func (k *Keyring) Keys() (*Keys, error) {
	k.mu.RLock()
	defer k.mu.RUnlock()
	if k.keys == nil {
		return nil, ErrEmpty
	}
	return k.keys, nil
}

// Fill stores keys. Fill fails when the keyring has keys of another cluster, as a run serves
// one: keys whose cluster authorities trust no certificate of each other.
func (k *Keyring) Fill(keys *Keys) error {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.keys != nil {
		had, has := k.keys.authorities[Cluster], keys.authorities[Cluster]
		if !slices.ContainsFunc(had.trusted, has.Trusts) {
			return errors.New("the keyring already has the keys of another cluster")
		}
	}
	k.keys = keys
	return nil
}
