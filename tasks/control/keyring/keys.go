package keyring

import (
	"errors"
	"fmt"
	"sync"
)

// Keys are the complete keys of one cluster. They do not change once made.
type Keys struct {
	authorities map[string]*Authority
	files       Files
	made        []string // paths of the files that no master held
}

// Authority returns the authority of that name: [Cluster], [Etcd] or
// [FrontProxy].
func (k *Keys) Authority(name string) (*Authority, error) {
	a, ok := k.authorities[name]
	if !ok {
		return nil, fmt.Errorf("there is no authority %q; there are %s, %s and %s", name, Cluster, Etcd, FrontProxy)
	}
	return a, nil
}

// Files returns the files that every master holds.
func (k *Keys) Files() Files { return k.files.Clone() }

// Keyring is the place where a run keeps its keys. The program that starts the
// run provides an empty one as a service; the action `authority` fills it, and
// signing and the clients of etcd and Kubernetes use it. It is safe for
// concurrent use.
type Keyring struct {
	mu   sync.RWMutex
	keys *Keys
}

// ErrEmpty says that the keys are asked for before they were loaded.
var ErrEmpty = errors.New("the cluster's keys are not loaded yet; the task `authority` must come first")

// Keys returns the keys, or ErrEmpty.
func (k *Keyring) Keys() (*Keys, error) {
	k.mu.RLock()
	defer k.mu.RUnlock()
	if k.keys == nil {
		return nil, ErrEmpty
	}
	return k.keys, nil
}

// Fill puts keys in. Filling it again is allowed with the same cluster
// authority only; a run serves one cluster.
func (k *Keyring) Fill(keys *Keys) error {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.keys != nil {
		had, has := k.keys.authorities[Cluster], keys.authorities[Cluster]
		if !had.Cert.Equal(has.Cert) {
			return errors.New("the keyring already holds the keys of another cluster")
		}
	}
	k.keys = keys
	return nil
}
