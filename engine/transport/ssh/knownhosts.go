package ssh

import (
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

// knownHosts is what some known_hosts files say, and the keys accepted since
// they were read.
type knownHosts struct {
	files []string

	mu    sync.RWMutex
	db    *knownhosts.HostKeyDB
	size  int64                      // of files[0] when it was read, plus what was appended
	fresh map[string]gossh.PublicKey // by address
}

// load reads the files; one that does not exist is empty.
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

// algorithms returns the host key algorithms to ask for: only those of the keys
// that are known for the address, as any other key would look like a changed
// one. It is nil, meaning the default, for an unknown host.
func (k *knownHosts) algorithms(address string) []string {
	k.mu.RLock()
	defer k.mu.RUnlock()
	if key := k.fresh[address]; key != nil {
		return algorithmsOf(key)
	}
	return k.db.HostKeyAlgorithms(address)
}

func algorithmsOf(key gossh.PublicKey) []string {
	if key.Type() == gossh.KeyAlgoRSA {
		return []string{gossh.KeyAlgoRSASHA512, gossh.KeyAlgoRSASHA256}
	}
	return []string{key.Type()}
}
