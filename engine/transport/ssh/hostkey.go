package ssh

import (
	"bytes"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"

	"github.com/skeema/knownhosts"
	gossh "golang.org/x/crypto/ssh"
	xknownhosts "golang.org/x/crypto/ssh/knownhosts"
	"golang.org/x/sys/unix"

	"deployer/engine/transport"
)

// hostKeyCheck checks the key of one host and remembers how that went.
type hostKeyCheck struct {
	known  *knownHosts
	policy Policy
	passed bool
	kind   transport.Kind
	err    error
}

func (c *hostKeyCheck) check(address string, remote net.Addr, key gossh.PublicKey) error {
	c.kind, c.err = c.known.verify(address, remote, key, c.policy)
	c.passed = c.err == nil
	return c.err
}

// verify looks the key up, and records it when it is new and the policy allows.
func (k *knownHosts) verify(address string, remote net.Addr, key gossh.PublicKey, policy Policy) (transport.Kind, error) {
	k.mu.RLock()
	err := k.lookup(address, remote, key)
	k.mu.RUnlock()
	if err == nil {
		return "", nil
	}
	if !knownhosts.IsHostUnknown(err) {
		return k.refuse(address, key, err)
	}
	if policy != AcceptNew {
		return transport.HostKeyUnknown, fmt.Errorf("the host's key %s %s is not in %s",
			key.Type(), gossh.FingerprintSHA256(key), k.files[0])
	}
	return k.accept(address, remote, key)
}

func (k *knownHosts) lookup(address string, remote net.Addr, key gossh.PublicKey) error {
	if fresh := k.fresh[address]; fresh != nil {
		if bytes.Equal(fresh.Marshal(), key.Marshal()) {
			return nil
		}
		return &xknownhosts.KeyError{Want: []xknownhosts.KnownKey{{Key: fresh, Filename: k.files[0]}}}
	}
	return k.db.HostKeyCallback()(address, remote, key)
}

func (k *knownHosts) refuse(address string, key gossh.PublicKey, err error) (transport.Kind, error) {
	var changed *xknownhosts.KeyError
	if !errors.As(err, &changed) {
		// Such as a revoked key.
		return transport.HostKeyChanged, err
	}
	var places []string
	for _, w := range changed.Want {
		places = append(places, fmt.Sprintf("%s:%d has %s", w.Filename, w.Line, gossh.FingerprintSHA256(w.Key)))
	}
	return transport.HostKeyChanged, fmt.Errorf("%s shows the key %s %s, but %s",
		address, key.Type(), gossh.FingerprintSHA256(key), strings.Join(places, ", "))
}

// accept appends the key to the first file. The file is locked meanwhile and
// read again if somebody else has written to it, so that two processes never
// record different keys for one host. The line is written with one write to a
// file opened for appending: a reader sees it whole or not at all.
func (k *knownHosts) accept(address string, remote net.Addr, key gossh.PublicKey) (transport.Kind, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	f, err := openLocked(k.files[0])
	if err != nil {
		return transport.Config, fmt.Errorf("recording the host's key: %w", err)
	}
	defer func() { _ = f.Close() }() // releases the lock
	info, err := f.Stat()
	if err == nil && info.Size() != k.size {
		err = k.load()
	}
	if err != nil {
		return transport.Config, err
	}
	if err := k.lookup(address, remote, key); !knownhosts.IsHostUnknown(err) {
		if err == nil {
			return "", nil
		}
		return k.refuse(address, key, err)
	}
	line := knownhosts.Line([]string{address}, key) + "\n"
	if unfinished(f, info.Size()) {
		line = "\n" + line
	}
	n, err := f.WriteString(line)
	k.size += int64(n)
	if err != nil {
		return transport.Config, fmt.Errorf("recording the host's key: %w", err)
	}
	k.fresh[address] = key
	return "", nil
}

func openLocked(path string) (*os.File, error) {
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return nil, err
	}
	f, err := os.OpenFile(path, os.O_RDWR|os.O_APPEND|os.O_CREATE, 0o600)
	if err != nil {
		return nil, err
	}
	if err := unix.Flock(int(f.Fd()), unix.LOCK_EX); err != nil {
		_ = f.Close()
		return nil, fmt.Errorf("locking %s: %w", path, err)
	}
	return f, nil
}

// unfinished is true when the file's last line has no end.
func unfinished(f *os.File, size int64) bool {
	var last [1]byte
	if size == 0 {
		return false
	}
	_, err := f.ReadAt(last[:], size-1)
	return err == nil && last[0] != '\n'
}
