package ssh

import (
	"bytes"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"

	"github.com/skeema/knownhosts"
	gossh "golang.org/x/crypto/ssh"
	xknownhosts "golang.org/x/crypto/ssh/knownhosts"
	"golang.org/x/sys/unix"

	"deployer/engine/transport"
)

// hostKeyCheck verifies the key of one host and keeps the outcome.
type hostKeyCheck struct {
	known  *knownHosts
	host   knownHost
	policy Policy
	hash   bool
	passed atomic.Bool
	err    *transport.Error
}

func (c *hostKeyCheck) check(address string, remote net.Addr, key gossh.PublicKey) error {
	c.err = c.known.verify(c, address, remote, key)
	c.passed.Store(c.err == nil)
	if c.err == nil {
		return nil
	}
	return c.err
}

// verify verifies the host's key, and records a new one if the policy permits it. A
// certificate of an unknown authority counts as the plain key in it, as with ssh(1).
// The error does not name the host.
func (k *knownHosts) verify(c *hostKeyCheck, address string, remote net.Addr, key gossh.PublicKey) *transport.Error {
	if cert, ok := key.(*gossh.Certificate); ok && !c.host.trusts(cert.SignatureKey) {
		key = cert.Key
	}
	k.mu.RLock()
	err := k.lookup(c.host, address, remote, key)
	k.mu.RUnlock()
	switch {
	case err == nil:
		return nil
	case !knownhosts.IsHostUnknown(err):
		return k.refuse(address, key, err)
	case c.policy != AcceptNew:
		return hostKeyError(transport.HostKeyUnknown, fmt.Errorf("the host's key %s %s is not in %s",
			key.Type(), gossh.FingerprintSHA256(key), k.files[0]))
	}
	return k.accept(c, address, remote, key)
}

// lookup reports whether the key is known. Keys of certificate authorities are no
// host keys.
func (k *knownHosts) lookup(host knownHost, address string, remote net.Addr, key gossh.PublicKey) error {
	if fresh := k.fresh[address]; fresh != nil {
		if bytes.Equal(fresh.Marshal(), key.Marshal()) {
			return nil
		}
		return &xknownhosts.KeyError{Want: []xknownhosts.KnownKey{{Key: fresh, Filename: k.files[0]}}}
	}
	err := k.db.HostKeyCallback()(address, remote, key)
	if _, ok := key.(*gossh.Certificate); ok {
		return err
	}
	var other *xknownhosts.KeyError
	switch {
	case err == nil && !host.has(key):
		return &xknownhosts.KeyError{}
	case errors.As(err, &other):
		return &xknownhosts.KeyError{Want: slices.DeleteFunc(other.Want, func(w xknownhosts.KnownKey) bool { return !host.has(w.Key) })}
	}
	return err
}

func hostKeyError(kind transport.Kind, err error) *transport.Error {
	return &transport.Error{Stage: transport.StageHandshake, Kind: kind, Err: err}
}

// refuse returns the error for a changed or revoked key, or an invalid certificate.
func (k *knownHosts) refuse(address string, key gossh.PublicKey, err error) *transport.Error {
	name := fmt.Sprintf("%s %s", key.Type(), gossh.FingerprintSHA256(key))
	var changed *xknownhosts.KeyError
	var revoked *xknownhosts.RevokedError
	switch {
	case errors.As(err, &changed):
		var places []string
		for _, w := range changed.Want {
			places = append(places, fmt.Sprintf("%s:%d has %s", w.Filename, w.Line, gossh.FingerprintSHA256(w.Key)))
		}
		return hostKeyError(transport.HostKeyChanged, fmt.Errorf("%s has the key %s, but %s", address, name, strings.Join(places, ", ")))
	case errors.As(err, &revoked):
		e := hostKeyError(transport.HostKeyChanged, fmt.Errorf("%s has the key %s, which %s:%d marks as revoked",
			address, name, revoked.Revoked.Filename, revoked.Revoked.Line))
		e.Advice = "give the host a new key; somebody who has the revoked key may be intercepting the connection"
		return e
	}
	e := hostKeyError(transport.HostKeyUnknown, fmt.Errorf("%s has an invalid certificate: %w", address, err))
	e.Advice = "sign the host's certificate again, for this name or address"
	return e
}

// accept appends the key to the first file. The file is locked meanwhile, and read
// again if another process has written to it, so that two processes never record
// different keys for one host. The line is appended with one write, so a reader sees
// all of it or nothing.
func (k *knownHosts) accept(c *hostKeyCheck, address string, remote net.Addr, key gossh.PublicKey) *transport.Error {
	k.mu.Lock()
	defer k.mu.Unlock()
	f, err := openLocked(k.files[0])
	if err != nil {
		return hostKeyError(transport.Config, fmt.Errorf("recording the host's key: %w", err))
	}
	defer func() { _ = f.Close() }() // releases the lock
	info, err := f.Stat()
	if err == nil && info.Size() != k.size {
		err = k.load()
	}
	if err != nil {
		return hostKeyError(transport.Config, err)
	}
	c.host = k.of(address) // another connection may have reloaded the files
	if err := k.lookup(c.host, address, remote, key); !knownhosts.IsHostUnknown(err) {
		if err == nil {
			return nil
		}
		return k.refuse(address, key, err)
	}
	line := newLine(address, key, c.hash)
	if unfinished(f, info.Size()) {
		line = "\n" + line
	}
	n, err := f.WriteString(line)
	k.size += int64(n)
	if err != nil {
		return hostKeyError(transport.Config, fmt.Errorf("recording the host's key: %w", err))
	}
	k.fresh[address] = key
	return nil
}

// newLine returns the line that records a key, with a hashed name if requested.
func newLine(address string, key gossh.PublicKey, hash bool) string {
	if !hash {
		return knownhosts.Line([]string{address}, key) + "\n"
	}
	name := xknownhosts.HashHostname(knownhosts.Normalize(address))
	return name + " " + string(gossh.MarshalAuthorizedKey(key))
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

// unfinished reports whether the file's last line has no end.
func unfinished(f *os.File, size int64) bool {
	var last [1]byte
	if size == 0 {
		return false
	}
	_, err := f.ReadAt(last[:], size-1)
	return err == nil && last[0] != '\n'
}
