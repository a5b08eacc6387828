package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"deployer/test/bench/measure"
)

// benchmark is the whole benchmark; its fields are set by flags.
type benchmark struct {
	out        io.Writer
	sizes      []int
	reflectors []int // numbers of reflectors; 0 is a mesh
	root       string
	program    string
	plot       string
}

// convergeTimeout is the maximum wait for all routes. BIRD retries a refused session after up to 30 s.
const convergeTimeout = 5 * time.Minute

// settleTime is the time after which costs are read: BIRD has sent its updates by then.
const settleTime = 2 * time.Second

// result has the figures of one cluster.
type result struct {
	speakers   int // before one joins
	reflectors int
	sessions   int           // after it has joined
	start      time.Duration // from the start of the first BIRD until each node has all routes
	startCPU   time.Duration // processor time of all BIRDs until then
	join       time.Duration // from the first changed configuration until each node has all routes
	joinCPU    time.Duration // processor time of all BIRDs meanwhile
	changed    int           // nodes with another configuration, without the one that joins
	rss        int64         // memory of all BIRDs, in bytes
	busiest    cost          // highest processor time and memory of one BIRD, since its start
}

func (b *benchmark) run(ctx context.Context) error {
	if err := removeStale(ctx); err != nil {
		return err
	}
	fmt.Fprintf(b.out, "%s\n\n%s\n", measure.Machine(), heading)
	all, err := b.clusters(ctx)
	if b.plot != "" && len(all) > 0 {
		err = errors.Join(err, os.WriteFile(b.plot, []byte(plot(all)), 0o644))
	}
	for _, line := range summary(all) {
		fmt.Fprintln(b.out, line)
	}
	return err
}

// clusters measures all clusters, until one cannot be measured.
func (b *benchmark) clusters(ctx context.Context) (all []result, err error) {
	for _, n := range b.sizes {
		for _, r := range b.reflectors {
			one, err := b.cluster(ctx, n, r)
			if err != nil {
				return all, fmt.Errorf("%d speakers, %s: %w", n, topology(r), err)
			}
			fmt.Fprintln(b.out, one.row())
			all = append(all, one)
		}
	}
	return all, nil
}

// cluster measures a cluster of n nodes, which another one joins.
func (b *benchmark) cluster(ctx context.Context, n, reflectors int) (out result, err error) {
	dir, err := os.MkdirTemp("", ownPrefix())
	if err != nil {
		return out, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	libraries, err := filepath.Glob(filepath.Join(b.root, "usr/lib/*-linux-gnu"))
	if err != nil {
		return out, err
	}
	net, err := newNetwork(ctx, n+1)
	if err != nil {
		return out, err
	}
	defer func() { err = errors.Join(err, net.remove()) }()
	routes, err := newWatch(net.nodes)
	if err != nil {
		return out, err
	}
	defer routes.close()
	f := &fleet{program: b.program, libraries: strings.Join(libraries, ":"), dir: dir, net: net}
	defer f.stop()
	m := &measurement{fleet: f, routes: routes, out: result{speakers: n, reflectors: reflectors}}
	if err := m.start(ctx); err != nil {
		return out, fmt.Errorf("start: %w", err)
	}
	if err := m.join(ctx); err != nil {
		return out, fmt.Errorf("join: %w", err)
	}
	return m.out, nil
}

// measurement is the measurement of one cluster.
type measurement struct {
	fleet  *fleet
	routes *watch
	out    result
}

// start starts the nodes and waits for their routes.
func (m *measurement) start(ctx context.Context) error {
	before, err := newSite(m.out.speakers, m.out.reflectors)
	if err != nil {
		return err
	}
	if _, err := m.fleet.configure(ctx, before); err != nil {
		return err
	}
	began := time.Now()
	if err := m.fleet.startNew(); err != nil {
		return err
	}
	end, err := m.await(ctx, m.out.speakers)
	if err != nil {
		return err
	}
	m.out.start = end.Sub(began)
	total, _, err := m.costs(ctx)
	m.out.startCPU = total.cpu
	return err
}

// join lets one more node join, and waits for the routes of all.
func (m *measurement) join(ctx context.Context) error {
	after, err := newSite(m.out.speakers+1, m.out.reflectors)
	if err != nil {
		return err
	}
	changed, err := m.fleet.configure(ctx, after)
	if err != nil {
		return err
	}
	m.out.changed = len(changed)
	began := time.Now()
	for _, s := range changed {
		if _, err := s.ask(ctx, "configure"); err != nil {
			return err
		}
	}
	if err := m.fleet.startNew(); err != nil {
		return err
	}
	end, err := m.await(ctx, m.out.speakers+1)
	if err != nil {
		return err
	}
	m.out.join = end.Sub(began)
	total, busiest, err := m.costs(ctx)
	if err != nil {
		return err
	}
	m.out.joinCPU, m.out.rss, m.out.busiest = total.cpu-m.out.startCPU, total.rss, busiest
	m.out.sessions = after.sessions()
	return m.awaitSessions(ctx, m.out.sessions)
}

// awaitSessions waits until all sessions are established. On a busy machine some are lost for a while, and
// BIRD keeps their routes.
func (m *measurement) awaitSessions(ctx context.Context, want int) error {
	for deadline := time.Now().Add(convergeTimeout); ; {
		got, err := m.fleet.sessions(ctx)
		switch {
		case err != nil:
			return err
		case got == want:
			return nil
		case time.Now().After(deadline):
			return fmt.Errorf("%d of %d sessions are established after %s", got, want, convergeTimeout)
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(time.Second):
		}
	}
}

// await waits until the first n nodes have the routes to each other.
func (m *measurement) await(ctx context.Context, n int) (time.Time, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, convergeTimeout, fmt.Errorf("no more within %s", convergeTimeout))
	defer cancel()
	return m.routes.await(ctx, n, n-1)
}

// costs returns the present cost of all nodes, and the highest ones of a node.
func (m *measurement) costs(ctx context.Context) (total, busiest cost, err error) {
	select {
	case <-ctx.Done():
		return total, busiest, ctx.Err()
	case <-time.After(settleTime):
	}
	for _, s := range m.fleet.speakers {
		one, err := s.cost()
		if err != nil {
			return total, busiest, err
		}
		total.cpu, total.rss = total.cpu+one.cpu, total.rss+one.rss
		busiest.cpu, busiest.rss = max(busiest.cpu, one.cpu), max(busiest.rss, one.rss)
	}
	return total, busiest, nil
}
