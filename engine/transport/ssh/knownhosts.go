package ssh

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/skeema/knownhosts"
	gossh "golang.org/x/crypto/ssh"
)

// knownStore reads each list of known_hosts files once.
type knownStore struct {
	mu   sync.Mutex
	sets map[string]*knownHosts
}

func (s *knownStore) open(t Target) (*knownHosts, error) {
	files, err := knownFiles(t)
	if err != nil {
		return nil, err
	}
	name := strings.Join(files, "\x00")
	s.mu.Lock()
	defer s.mu.Unlock()
	if k := s.sets[name]; k != nil {
		return k, nil
	}
	k := &knownHosts{files: files, fresh: map[string]gossh.PublicKey{}}
	if err := k.load(); err != nil {
		return nil, err
	}
	if s.sets == nil {
		s.sets = map[string]*knownHosts{}
	}
	s.sets[name] = k
	return k, nil
}

func knownFiles(t Target) ([]string, error) {
	if len(t.KnownHosts) > 0 {
		return t.KnownHosts, nil
	}
	home, err := os.UserHomeDir()
	if err != nil {
		return nil, fmt.Errorf("looking for known_hosts: %w", err)
	}
	return []string{filepath.Join(home, ".ssh", "known_hosts"), "/etc/ssh/ssh_known_hosts"}, nil
}

// knownHosts is the content of known_hosts files, and the keys accepted since they
// were read.
type knownHosts struct {
	files []string

	mu    sync.RWMutex
	db    *knownhosts.HostKeyDB
	size  int64                      // of files[0] when it was read, plus what was appended
	fresh map[string]gossh.PublicKey // by address
}

// load reads the files; a missing file is empty.
func (k *knownHosts) load() error {
	info, err := os.Stat(k.files[0])
	if err == nil {
		k.size = info.Size()
	}
	existing := slices.DeleteFunc(slices.Clone(k.files), func(f string) bool {
		_, err := os.Stat(f)
		return errors.Is(err, fs.ErrNotExist)
	})
	k.db, err = knownhosts.NewDB(existing...)
	if err != nil {
		return fmt.Errorf("reading known_hosts: %w", err)
	}
	return nil
}

// knownHost has the entries of one host.
type knownHost struct {
	keys        []gossh.PublicKey
	authorities []gossh.PublicKey // certificate authorities that are valid for the host
}

// host returns the entries of an address.
func (k *knownHosts) host(address string) knownHost {
	k.mu.RLock()
	defer k.mu.RUnlock()
	return k.of(address)
}

// of is host for callers that hold the lock.
func (k *knownHosts) of(address string) knownHost {
	if key := k.fresh[address]; key != nil {
		return knownHost{keys: []gossh.PublicKey{key}}
	}
	var h knownHost
	for _, key := range k.db.HostKeys(address) {
		if key.Cert {
			h.authorities = append(h.authorities, key.PublicKey)
		} else {
			h.keys = append(h.keys, key.PublicKey)
		}
	}
	return h
}

func (h knownHost) has(key gossh.PublicKey) bool          { return contains(h.keys, key) }
func (h knownHost) trusts(authority gossh.PublicKey) bool { return contains(h.authorities, authority) }

func contains(keys []gossh.PublicKey, key gossh.PublicKey) bool {
	return slices.ContainsFunc(keys, func(k gossh.PublicKey) bool { return bytes.Equal(k.Marshal(), key.Marshal()) })
}

// algorithms returns the host key algorithms to request, in order: certificates if
// an authority is known for the host; the types of the known keys, because another
// key would look like a changed one; then the rest, so that a reinstalled host shows
// its new key instead of failing without a reason.
func (h knownHost) algorithms() []string {
	certs, plain := hostKeyAlgorithms()
	var first []string
	if len(h.authorities) > 0 {
		first = certs
	}
	for _, key := range h.keys {
		for _, a := range algorithmsOf(key.Type()) {
			if slices.Contains(plain, a) && !slices.Contains(first, a) {
				first = append(first, a)
			}
		}
	}
	// Certificates at the end: the key in one is as good as a plain one.
	rest := slices.DeleteFunc(append(plain, certs...), func(a string) bool { return slices.Contains(first, a) })
	return append(first, rest...)
}

// hostKeyAlgorithms are the algorithms of certificates and of plain keys, in the
// order of ssh(1), so that the same key is recorded for a new host.
func hostKeyAlgorithms() (certs, plain []string) {
	usual := []string{gossh.KeyAlgoED25519, gossh.KeyAlgoECDSA256, gossh.KeyAlgoECDSA384, gossh.KeyAlgoECDSA521}
	plain = usual
	for _, a := range gossh.SupportedAlgorithms().HostKeys {
		switch {
		case strings.Contains(a, "-cert-"):
			certs = append(certs, a)
		case !slices.Contains(usual, a):
			plain = append(plain, a)
		}
	}
	return certs, plain
}

// algorithmsOf returns the signature algorithms of a type of key.
func algorithmsOf(kind string) []string {
	if kind == gossh.KeyAlgoRSA {
		return []string{gossh.KeyAlgoRSASHA512, gossh.KeyAlgoRSASHA256}
	}
	return []string{kind}
}
