package kube

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"slices"
	"strconv"
	"sync"
	"time"

	"deployer/engine"
	"deployer/tasks/control/actionctx"
	"deployer/tasks/control/keyring"
)

// dialTimeout is the maximum time for a connection to one master; after it the
// next master is dialled.
const dialTimeout = 5 * time.Second

// Dialer opens a connection from a host: the host resolves and dials address.
type Dialer func(ctx context.Context, host, network, address string) (net.Conn, error)

// Access gives the actions of a run their clients of the Kubernetes API. The
// program that starts a run provides an Access as a service. An Access connects
// when its first client sends a request, and is safe for concurrent use.
type Access struct {
	ring *keyring.Keyring

	mu      sync.Mutex
	dial    Dialer
	masters []string // the master of the last successful dial comes first
	port    int
	any     *Client
	pinned  map[string]*Client
	trusted *keyring.Authority // the authority that the clients trust and that signed their certificate

	loading    sync.Mutex // held while the keys are read from a master
	identityMu sync.Mutex
	identity   *tls.Certificate
}

// NewAccess returns an Access whose client certificate is signed with the keys of
// ring.
func NewAccess(ring *keyring.Keyring) *Access {
	return &Access{ring: ring, pinned: map[string]*Client{}}
}

// AccessOf returns the Access of the run, updated with the dialer, the masters and
// the API port of actx, and with the client certificate of the controller when the cluster's
// authority is external. AccessOf fails when the run has no Access or no resolved cluster.
func AccessOf(ctx context.Context, actx engine.ActionContext) (*Access, error) {
	a, ok := engine.Service[*Access](actx.Services())
	if !ok {
		return nil, errors.New("the program that started this run provides no access to the Kubernetes API")
	}
	c, err := actionctx.Cluster(actx)
	if err != nil {
		return nil, err
	}
	a.Use(actx.Dial, c.Masters, c.API.Port)
	return a, keyring.LoadIdentity(ctx, actx, a.ring, keyring.Cluster, time.Now())
}

// Use sets the dialer, the masters and the port of their API servers. Masters that
// the Access knows keep their order.
func (a *Access) Use(dial Dialer, masters []string, port int) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.dial, a.port = dial, port
	a.masters = slices.DeleteFunc(a.masters, func(m string) bool { return !slices.Contains(masters, m) })
	for _, m := range masters {
		if !slices.Contains(a.masters, m) {
			a.masters = append(a.masters, m)
		}
	}
}

// Any returns the client that the whole run shares. The client uses one master, and
// switches to the next when that master fails. Any fails when the keyring is empty
// ([keyring.ErrEmpty]) or there is no master.
func (a *Access) Any() (*Client, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if len(a.masters) == 0 {
		return nil, errors.New("the Kubernetes API cannot be reached: the inventory has no master")
	}
	if err := a.renewTrust(); err != nil {
		return nil, err
	}
	if a.any != nil {
		return a.any, nil
	}
	client, err := a.client(a.dialAny, a.switchMaster)
	if err != nil {
		return nil, err
	}
	a.any = client
	return client, nil
}

// On returns a client that uses the API server of one master only.
func (a *Access) On(master string) (*Client, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if err := a.renewTrust(); err != nil {
		return nil, err
	}
	if c := a.pinned[master]; c != nil {
		return c, nil
	}
	c, err := a.client(func(ctx context.Context, network, address string) (net.Conn, error) {
		dial, _, _ := a.state()
		return dial(ctx, master, network, address)
	}, nil)
	if err != nil {
		return nil, err
	}
	a.pinned[master] = c
	return c, nil
}

// renewTrust discards the clients and the client certificate when a rotation has replaced
// the authority of the keyring, so that the next clients use the new one. a.mu is held.
func (a *Access) renewTrust() error {
	keys, err := a.ring.Keys()
	if err != nil {
		return err
	}
	authority, err := keys.Authority(keyring.Cluster)
	if err != nil || authority == a.trusted {
		return err
	}
	for _, c := range a.pinned {
		c.Close()
	}
	if a.any != nil {
		a.any.Close()
	}
	a.trusted, a.any, a.pinned = authority, nil, map[string]*Client{}
	a.identityMu.Lock()
	defer a.identityMu.Unlock()
	a.identity = nil
	return nil
}

func (a *Access) client(dial func(context.Context, string, string) (net.Conn, error), switchServer func()) (*Client, error) {
	return New(Options{
		URL: "https://" + net.JoinHostPort("127.0.0.1", strconv.Itoa(a.port)),
		TLS: &tls.Config{
			MinVersion: tls.VersionTLS12,
			RootCAs:    a.trusted.Pool(),
			GetClientCertificate: func(*tls.CertificateRequestInfo) (*tls.Certificate, error) {
				return a.certificate(time.Now())
			},
		},
		Dial:         dial,
		SwitchServer: switchServer,
	})
}

func (a *Access) state() (Dialer, []string, int) {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.dial, slices.Clone(a.masters), a.port
}

// dialAny dials the masters in turn until one accepts the connection. The address
// is the same on each, its own loopback.
func (a *Access) dialAny(ctx context.Context, network, address string) (net.Conn, error) {
	dial, masters, _ := a.state()
	var errs []error
	for _, master := range masters {
		conn, err := dialOne(ctx, dial, master, network, address)
		if err == nil {
			a.prefer(master)
			return conn, nil
		}
		errs = append(errs, fmt.Errorf("%s: %w", master, err))
		if ctx.Err() != nil {
			break
		}
	}
	return nil, &unreachableError{errs}
}

func dialOne(ctx context.Context, dial Dialer, master, network, address string) (net.Conn, error) {
	ctx, cancel := context.WithTimeout(ctx, dialTimeout)
	defer cancel()
	return dial(ctx, master, network, address)
}

func (a *Access) prefer(master string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	i := slices.Index(a.masters, master)
	if i > 0 {
		a.masters = slices.Insert(slices.Delete(a.masters, i, i+1), 0, master)
	}
}

// switchMaster moves the master in use to the end of the list, and closes the idle
// connections to it.
func (a *Access) switchMaster() {
	a.mu.Lock()
	if len(a.masters) > 1 {
		a.masters = append(a.masters[1:], a.masters[0])
	}
	client := a.any
	a.mu.Unlock()
	if client != nil {
		client.Close()
	}
}

// unreachableError reports that no master accepted a connection. unreachableError implements
// net.Error as a temporary error, so that requests are retried.
type unreachableError struct{ errs []error }

func (e *unreachableError) Error() string {
	return "no API server can be reached on any master: " + errors.Join(e.errs...).Error()
}
func (e *unreachableError) Unwrap() []error { return e.errs }
func (e *unreachableError) Timeout() bool   { return false }
func (e *unreachableError) Temporary() bool { return true }
