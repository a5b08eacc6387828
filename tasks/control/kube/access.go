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

// dialTimeout is how long one master may take to connect before the next is
// tried.
const dialTimeout = 5 * time.Second

// Dialer opens a connection from a host, as seen by it.
type Dialer func(ctx context.Context, host, network, address string) (net.Conn, error)

// Access is how the actions of a run reach the API. The program that starts a
// run provides one as a service; it connects when it is first used, and is
// safe for concurrent use.
type Access struct {
	ring *keyring.Keyring

	mu      sync.Mutex
	dial    Dialer
	masters []string // the one that answered last comes first
	port    int
	any     *Client
	pinned  map[string]*Client

	loading    sync.Mutex // held while the keys are read from a master
	identityMu sync.Mutex
	identity   *tls.Certificate
}

// NewAccess returns an access that makes its identity with the keys of ring.
func NewAccess(ring *keyring.Keyring) *Access {
	return &Access{ring: ring, pinned: map[string]*Client{}}
}

// AccessOf returns the access of the run, told how to dial from now on.
func AccessOf(site engine.ActionContext) (*Access, error) {
	a, ok := engine.Service[*Access](site.Services())
	if !ok {
		return nil, errors.New("the program that started this run provides no access to the Kubernetes API")
	}
	c, err := actionctx.Cluster(site)
	if err != nil {
		return nil, err
	}
	a.Use(site.Dial, c.Masters, c.API.Port)
	return a, nil
}

// Use tells how hosts are dialled, which of them are masters, and the port of
// their API servers.
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

// Any returns the client that is shared by the run. It talks to whichever
// master answers, and moves on to another when that one is in trouble.
func (a *Access) Any() (*Client, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.any != nil {
		return a.any, nil
	}
	if len(a.masters) == 0 {
		return nil, errors.New("there is no master to reach the Kubernetes API through")
	}
	client, err := a.client(a.dialAny, a.another)
	if err != nil {
		return nil, err
	}
	a.any = client
	return client, nil
}

// On returns a client that talks to the API server of one master only.
func (a *Access) On(master string) (*Client, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
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

func (a *Access) client(dial func(context.Context, string, string) (net.Conn, error), another func()) (*Client, error) {
	keys, err := a.ring.Keys()
	if err != nil {
		return nil, err
	}
	authority, err := keys.Authority(keyring.Cluster)
	if err != nil {
		return nil, err
	}
	return New(Options{
		URL: "https://" + net.JoinHostPort("127.0.0.1", strconv.Itoa(a.port)),
		TLS: &tls.Config{
			MinVersion: tls.VersionTLS12,
			RootCAs:    authority.Pool(),
			GetClientCertificate: func(*tls.CertificateRequestInfo) (*tls.Certificate, error) {
				return a.certificate(time.Now())
			},
		},
		Dial:    dial,
		Another: another,
	})
}

func (a *Access) state() (Dialer, []string, int) {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.dial, slices.Clone(a.masters), a.port
}

// dialAny tries the masters in turn. The address is the same on each: its own
// loopback.
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

// another puts the master in use last, and drops idle connections to it.
func (a *Access) another() {
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

// unreachableError says that no master took a connection. It counts as a
// network error, which passes.
type unreachableError struct{ errs []error }

func (e *unreachableError) Error() string {
	return "no master's API server can be reached: " + errors.Join(e.errs...).Error()
}
func (e *unreachableError) Unwrap() []error { return e.errs }
func (e *unreachableError) Timeout() bool   { return false }
func (e *unreachableError) Temporary() bool { return true }
