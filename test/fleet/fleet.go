package fleet

import (
	"bytes"
	"context"
	"crypto/ed25519"
	"encoding/pem"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"time"

	gossh "golang.org/x/crypto/ssh"

	"deployer/engine/transport/sshtest"
	"deployer/tasks"
)

// Options are the options of a fleet.
type Options struct {
	// Dir has the keys and the directories of hosts; required. Close does not remove
	// it.
	Dir string
	// Name returns the name of the i-th host, from 0. Default n001, n002, ...
	Name func(i int) string

	// ReportSteps has each step report progress before its check. An agent sends the
	// results before a report, so each result travels in a frame of its own.
	ReportSteps bool
	// Latency is the round-trip time that the fleet adds to the network.
	Latency time.Duration
	// Passwords of users by name; nil for login with keys.
	Passwords map[string]string
	// Other executes commands that are not deployer's; nil refuses them.
	Other func(ctx context.Context, c sshtest.Command) (exit int)
	// Before is called before each check of a step with the name of its module, and may
	// block; may be nil.
	Before func(ctx context.Context, h *Host, module string)
	// Exec replaces serve, which executes a command as a host does; it may call serve
	// with a changed command. nil means serve.
	Exec func(ctx context.Context, h *Host, c sshtest.Command, serve func(sshtest.Command) int) int
}

// Fleet is a set of running hosts.
type Fleet struct {
	Hosts []*Host
	// Port is the SSH port of all hosts, which have different addresses.
	Port int
	// keyFile has the private key that the hosts accept, knownHostsFile their host key.
	keyFile, knownHostsFile string

	byName  map[string]*Host
	latency time.Duration
	load    concurrency
	meter   meter
}

// maxHosts is the number of addresses of a fleet, from 127.77.0.0/16.
const maxHosts = 250 * 250

// Start starts n hosts. After an error nothing is left running.
func Start(n int, o Options) (*Fleet, error) {
	if n < 1 || n > maxHosts {
		return nil, fmt.Errorf("a fleet has 1 to %d hosts, not %d", maxHosts, n)
	}
	if o.Name == nil {
		o.Name = func(i int) string { return fmt.Sprintf("n%03d", i+1) }
	}

	f := &Fleet{
		byName: map[string]*Host{}, latency: o.Latency,
		keyFile: filepath.Join(o.Dir, "key"), knownHostsFile: filepath.Join(o.Dir, "known_hosts"),
	}
	hostKey, user, err := f.writeKeys()
	if err != nil {
		return nil, fmt.Errorf("making the fleet's keys: %w", err)
	}
	for i := range n {
		h := &Host{
			Name: o.Name(i), Address: fmt.Sprintf("127.77.%d.%d", i/250, 1+i%250),
			Root: filepath.Join(o.Dir, "hosts", o.Name(i)), fleet: f, before: o.Before, other: o.Other, answer: o.Exec,
		}
		if f.byName[h.Name] != nil {
			return nil, fmt.Errorf("two hosts have the name %s", h.Name)
		}
		if err := os.MkdirAll(h.Root, 0o755); err != nil {
			return nil, fmt.Errorf("making the directory of %s: %w", h.Name, err)
		}
		h.registry = h.observe(tasks.Modules())
		if o.ReportSteps {
			h.registry = ReportSteps(h.registry)
		}
		h.config = sshtest.Config{Authorized: []gossh.PublicKey{user}, HostKeys: []gossh.Signer{hostKey}, Exec: h.exec, Passwords: o.Passwords}
		if o.Passwords != nil {
			h.config.Authorized = []gossh.PublicKey{}
		}
		f.Hosts, f.byName[h.Name] = append(f.Hosts, h), h
	}
	err = f.listen()
	if err == nil {
		err = f.writeKnownHosts(hostKey.PublicKey())
	}
	if err != nil {
		f.Close()
		return nil, fmt.Errorf("starting the fleet: %w", err)
	}
	return f, nil
}

// listen gives all hosts the same port: one that is free on every address.
func (f *Fleet) listen() error {
	var last error
	for range 20 {
		free, err := net.Listen("tcp", net.JoinHostPort(f.Hosts[0].Address, "0"))
		if err != nil {
			return fmt.Errorf("looking for a free port: %w", err)
		}
		f.Port = free.Addr().(*net.TCPAddr).Port
		_ = free.Close()
		if last = f.startAll(); last == nil {
			return nil
		}
		f.Close()
	}
	return last
}

func (f *Fleet) startAll() error {
	for _, h := range f.Hosts {
		if err := h.Start(); err != nil {
			return err
		}
	}
	return nil
}

// Host returns the host of a name; nil when there is none.
func (f *Fleet) Host(name string) *Host { return f.byName[name] }

// Names lists the hosts in order.
func (f *Fleet) Names() []string {
	names := make([]string, len(f.Hosts))
	for i, h := range f.Hosts {
		names[i] = h.Name
	}
	return names
}

// Busy returns the maximum number of hosts that were connecting or working on a step
// at the same time, as counted by the hosts.
func (f *Fleet) Busy() int { return f.load.max() }

// Traffic returns the numbers of connections and bytes of the hosts since Start or
// Forget.
func (f *Fleet) Traffic() Traffic { return f.meter.read() }

// Forget resets Busy and Traffic.
func (f *Fleet) Forget() {
	f.load.reset()
	f.meter.reset()
}

// Close stops all hosts and waits until their steps in flight have ended.
func (f *Fleet) Close() {
	var all sync.WaitGroup
	for _, h := range f.Hosts {
		all.Go(func() { h.Stop(); h.waitForSessions() })
	}
	all.Wait()
}

// writeKeys creates one key for all hosts, which saves time, and one for the user.
// Other tests cover hosts with different keys.
func (f *Fleet) writeKeys() (host gossh.Signer, user gossh.PublicKey, err error) {
	host, err = sshtest.NewKey()
	if err != nil {
		return nil, nil, err
	}
	public, private, err := ed25519.GenerateKey(nil)
	if err != nil {
		return nil, nil, err
	}
	block, err := gossh.MarshalPrivateKey(private, "")
	if err != nil {
		return nil, nil, err
	}
	user, err = gossh.NewPublicKey(public)
	return host, user, errors.Join(err,
		os.MkdirAll(filepath.Dir(f.keyFile), 0o700),
		os.WriteFile(f.keyFile, pem.EncodeToMemory(block), 0o600))
}

// writeKnownHosts writes the host key of all hosts, so that clients check it.
func (f *Fleet) writeKnownHosts(key gossh.PublicKey) error {
	var lines bytes.Buffer
	for _, h := range f.Hosts {
		fmt.Fprintf(&lines, "[%s]:%d %s", h.Address, f.Port, gossh.MarshalAuthorizedKey(key))
	}
	return os.WriteFile(f.knownHostsFile, lines.Bytes(), 0o600)
}

func (f *Fleet) port() string { return strconv.Itoa(f.Port) }
