// Package prober uses a cluster as its clients do while an operation or failure of
// the cluster is in progress, and measures failures and delays. From each client,
// which is a host with a local API proxy, it writes and reads an object through that
// proxy, resolves a name with the cluster's DNS, and requests a Service, each of the
// four every 200 ms; it also watches the health of etcd's members and the readiness
// of the nodes.
//
// A call makes attempts until one succeeds or [Retry] is over, so that a call can
// succeed after failed attempts. A gap is the time from the first attempt that did
// not succeed, or from the begin of a slow attempt, to the end of the next success.
package prober

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"slices"
	"strings"
	"sync"
	"time"
)

// The times of the calls are those of a patient user of kubectl or curl.
const (
	Interval       = 200 * time.Millisecond // from the begin of one call to that of the next
	AttemptTimeout = 2 * time.Second
	Retry          = 5 * time.Second        // from the begin of a call to its last attempt
	backoff        = 200 * time.Millisecond // between two attempts
)

// ErrClientDown is returned by [Client.Dial] while the client's host is switched off.
// The prober does not count a call of such a client.
var ErrClientDown = errors.New("the host of the client is switched off")

// DialFunc opens a connection from a host.
type DialFunc func(ctx context.Context, network, address string) (net.Conn, error)

// Client is a host on which calls are made.
type Client struct {
	Name string
	Dial DialFunc // from that host
}

// Target is the cluster as its clients see it. The prober makes no calls of a kind
// whose address is empty.
type Target struct {
	Clients []Client

	API       string // URL of the API from a client: its local proxy
	APITLS    *tls.Config
	Namespace string // namespace with a ConfigMap for each client, see [ConfigMap]

	DNS  string // address of the cluster's DNS, HOST:PORT
	Name string // fully qualified name to resolve, with the final dot

	Service string // URL of the Service

	Etcd     []string // client URLs of the first members; the prober learns of others
	EtcdTLS  *tls.Config
	EtcdDial DialFunc // from the network of the members
}

// ConfigMap returns the name of the object that a client writes and reads.
func ConfigMap(client string) string { return "prober-" + client }

// Prober makes calls until it is stopped.
type Prober struct {
	target  Target
	started time.Time
	waited  time.Duration // cpuWait at the start
	stop    chan struct{}
	running sync.WaitGroup
	tallies []*tally
	etcd    *etcdWatch
	nodes   *nodeWatch
}

// Start starts the calls, each kind of each client in a goroutine of its own.
func Start(target Target) *Prober {
	p := &Prober{target: target, started: time.Now(), stop: make(chan struct{})}
	p.waited, _ = cpuWait()
	for _, c := range target.Clients {
		if target.API != "" {
			p.loop(c.Name, KindWrite, newAPICaller(target, c).write)
			p.loop(c.Name, KindRead, newAPICaller(target, c).read)
		}
		if target.DNS != "" {
			p.loop(c.Name, KindDNS, resolve(target, c))
		}
		if target.Service != "" {
			p.loop(c.Name, KindService, request(target, c))
		}
	}
	if len(target.Etcd) > 0 {
		p.etcd = newEtcdWatch(target)
		p.running.Go(func() { p.etcd.run(p.stop) })
	}
	if target.API != "" {
		p.nodes = newNodeWatch(target)
		p.running.Go(func() { p.nodes.run(p.stop) })
	}
	return p
}

// Stop ends the calls, waits for those in flight, and returns the observations.
func (p *Prober) Stop() Report {
	close(p.stop)
	p.running.Wait()
	return p.report()
}

// WaitServed waits until a call of each kind from each client has succeeded after the call of
// WaitServed, so that two outages around it are two gaps. It returns an error that names the
// calls that have not when ctx ends.
func (p *Prober) WaitServed(ctx context.Context) error {
	since := time.Now()
	for {
		var unserved []string
		for _, t := range p.tallies {
			if !t.servedSince(since) {
				unserved = append(unserved, t.kind+" from "+t.client)
			}
		}
		if len(unserved) == 0 {
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("no call has succeeded in %s: %s", time.Since(since).Round(time.Second), strings.Join(unserved, ", "))
		case <-time.After(backoff):
		}
	}
}

// loop makes calls of one kind from one client.
func (p *Prober) loop(client, kind string, attempt func(context.Context) error) {
	t := &tally{client: client, kind: kind}
	p.tallies = append(p.tallies, t)
	p.running.Go(func() {
		defer t.end()
		for {
			began := time.Now()
			t.call(attempt)
			if !pause(p.stop, Interval-time.Since(began)) {
				return
			}
		}
	})
}

// pause waits for d, and returns false when stop is closed, even when d has passed by
// then.
func pause(stop <-chan struct{}, d time.Duration) bool {
	select {
	case <-stop:
		return false
	case <-time.After(max(d, 0)):
	}
	select {
	case <-stop:
		return false
	default:
		return true
	}
}

// kinds are the kinds of calls in the order of reports.
var kinds = []string{KindWrite, KindRead, KindDNS, KindService}

func byKind(a, b *tally) int {
	return slices.Index(kinds, a.kind) - slices.Index(kinds, b.kind)
}
