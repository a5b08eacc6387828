// Package ssh is the transport over SSH, with golang.org/x/crypto/ssh.
//
// A [Dialer] holds the state that connections share: parsed keys, the SSH agent, the
// known_hosts files and the clients of bastions, so that a thousand hosts behind one
// bastion need one connection to the bastion. Each connection has goroutines of
// x/crypto/ssh and one that waits for its end; Close ends them.
package ssh

import (
	"net"
	"strconv"
	"time"
)

// Target describes the connection to one host.
type Target struct {
	// Host is the host's name in the inventory; errors name it.
	Host string
	// Address is a name or an IP address; Host when empty.
	Address string
	// Port is 22 when 0.
	Port int
	// User is root when empty.
	User string
	// Keys are files of private keys, or of public ones whose private half the
	// agent holds. When nil, those of OpenSSH's usual names in ~/.ssh that
	// exist are taken.
	Keys []string
	// LaxKeys skips files of Keys that cannot be used, as always for the default ones.
	LaxKeys bool
	// KeysOnly restricts the agent to the keys that Keys names.
	KeysOnly bool
	// Certificates are files of user certificates for any of the keys. A file
	// beside a key, KEY-cert.pub, needs no mention.
	Certificates []string
	// AgentSocket is the socket of the SSH agent; that of the Dialer when empty.
	AgentSocket string
	// NoAgent disables SSH agents.
	NoAgent bool
	// Password logs in where the server takes none of the keys, or where there
	// are none; empty for none.
	Password string
	// KnownHosts are files; ~/.ssh/known_hosts and /etc/ssh/ssh_known_hosts
	// when empty. New keys are appended to the first, with hashed names if
	// HashKnownHosts is set.
	KnownHosts     []string
	HashKnownHosts bool
	// HostKeyAlias is the name that the host has in those files instead of its
	// address and port.
	HostKeyAlias string
	// HostKeys is Strict when empty.
	HostKeys Policy
	// BindAddress is the address of this machine that connections come from;
	// whichever the system chooses when empty.
	BindAddress string
	// Family is 4 or 6 to connect over that version of IP only.
	Family int
	// Timeout bounds each stage: connecting, and key exchange with
	// authentication. DefaultTimeout when 0.
	Timeout time.Duration
	// Bastions are the hops to the target, in order. Their own Bastions are ignored. Nil
	// when not configured.
	Bastions []Target
	// ProxyCommand is a command line for /bin/sh whose input and output are the
	// connection, instead of one over TCP. Not together with Bastions.
	ProxyCommand string
}

// Policy is the treatment of unknown host keys.
type Policy string

// The policies. A changed key is refused by both.
const (
	// Strict refuses unknown hosts.
	Strict Policy = "strict"
	// AcceptNew records the key of an unknown host and continues.
	AcceptNew Policy = "accept-new"
)

// DefaultTimeout is 10 s: enough for a loaded host across the world, short enough
// that a dead host does not delay a run.
const DefaultTimeout = 10 * time.Second

// alias returns the host's name for ssh(1).
func (t Target) alias() string {
	if t.Address != "" {
		return t.Address
	}
	return t.Host
}

func (t Target) address() string {
	return net.JoinHostPort(t.alias(), strconv.Itoa(t.SSHPort()))
}

// knownAs returns the address under which the host's key is looked up.
func (t Target) knownAs() string {
	if t.HostKeyAlias != "" {
		return net.JoinHostPort(t.HostKeyAlias, "22")
	}
	return t.address()
}

func (t Target) network() string {
	switch t.Family {
	case 4:
		return "tcp4"
	case 6:
		return "tcp6"
	}
	return "tcp"
}

// SSHPort returns Port or its default.
func (t Target) SSHPort() int {
	if t.Port == 0 {
		return 22
	}
	return t.Port
}

// Login returns User or its default.
func (t Target) Login() string {
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

// route identifies the path to the target, which connections through it may share.
func (t Target) route() string {
	var r string
	for _, b := range append(t.Bastions[:len(t.Bastions):len(t.Bastions)], t) {
		r += b.Login() + "@" + b.address() + " " + b.ProxyCommand + "\n"
	}
	return r
}
