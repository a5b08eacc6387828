// Package ssh is the transport over SSH, with golang.org/x/crypto/ssh.
//
// A [Dialer] holds what connections share: parsed keys, the SSH agent, the
// known_hosts files and the clients of bastions, so that a thousand hosts behind
// one bastion cost it one connection.
package ssh

import (
	"net"
	"strconv"
	"time"
)

// Target says how to reach one host.
type Target struct {
	// Host is the host's name in the inventory; errors name it.
	Host string
	// Address is a name or an IP address; Host when empty.
	Address string
	// Port is 22 when 0.
	Port int
	// User is root when empty.
	User string
	// Keys are private key files. When empty, those of OpenSSH's usual names
	// in ~/.ssh that exist are taken.
	Keys []string
	// NoAgent leaves the SSH agent of the Dialer alone.
	NoAgent bool
	// KnownHosts are files; ~/.ssh/known_hosts and /etc/ssh/ssh_known_hosts
	// when empty. New keys are appended to the first.
	KnownHosts []string
	// HostKeys is Strict when empty.
	HostKeys Policy
	// Timeout bounds each stage: connecting, and key exchange with
	// authentication. DefaultTimeout when 0.
	Timeout time.Duration
	// Bastions are the hops on the way, the first one first. Their own
	// Bastions are not looked at.
	Bastions []Target
}

// Policy says what to do with a host whose key is not known.
type Policy string

// The policies. A changed key is refused by both.
const (
	// Strict refuses unknown hosts.
	Strict Policy = "strict"
	// AcceptNew records the key of an unknown host and goes on.
	AcceptNew Policy = "accept-new"
)

// DefaultTimeout is ten seconds: enough for a loaded host across the world,
// short enough that a dead one does not hold up a run.
const DefaultTimeout = 10 * time.Second

func (t Target) address() string {
	host, port := t.Address, t.Port
	if host == "" {
		host = t.Host
	}
	if port == 0 {
		port = 22
	}
	return net.JoinHostPort(host, strconv.Itoa(port))
}

func (t Target) user() string {
	if t.User == "" {
		return "root"
	}
	return t.User
}

func (t Target) timeout() time.Duration {
	if t.Timeout <= 0 {
		return DefaultTimeout
	}
	return t.Timeout
}

// route names the way to the target: what connections through it may share.
func (t Target) route() string {
	var r string
	for _, b := range t.Bastions {
		r += b.user() + "@" + b.address() + " "
	}
	return r + t.user() + "@" + t.address()
}
