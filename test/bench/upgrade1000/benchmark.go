package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"deployer/test/bench/kube"
	"deployer/test/bench/measure"
	"deployer/test/fleet"
)

// benchmark is the whole benchmark.
type benchmark struct {
	options
	out io.Writer
}

// figures are the figures of the summary line.
type figures struct {
	wall, resume    time.Duration
	unavailable     int // nodes, at most at one time
	unavailableZone int // nodes of one zone, at most at one time
	failed          int // hosts
}

func (f figures) String() string {
	return fmt.Sprintf("upgrade1000 wall_s=%.1f unavailable_max=%d failed_hosts=%d resume_s=%.1f",
		f.wall.Seconds(), f.unavailable, f.failed, f.resume.Seconds())
}

func (b *benchmark) run(ctx context.Context) error {
	fmt.Fprintf(b.out, "%d nodes in %d zones, %d pods each; at most %d nodes at one time, %d of a zone; seed %d; %s\n",
		b.nodes, b.zones, b.podsPerNode, b.batch, b.zoneLimit, b.seed, measure.Machine())
	f, err := b.measure(ctx)
	if err != nil {
		return fmt.Errorf("%w\n(repeat it with --seed %d; --keep keeps the logs)", err, b.seed)
	}
	fmt.Fprintf(b.out, "most nodes of one zone unavailable at one time: %d\n%s\n", f.unavailableZone, f)
	return nil
}

// measure starts everything, runs the rollout, and stops everything.
func (b *benchmark) measure(ctx context.Context) (f figures, err error) {
	dir, err := os.MkdirTemp(b.dir, "bench-upgrade1000-")
	if err != nil {
		return f, err
	}
	defer func() {
		if b.keep {
			fmt.Fprintf(b.out, "kept %s\n", dir)
			return
		}
		err = errors.Join(err, os.RemoveAll(dir))
	}()
	s, err := b.startSite(ctx, dir)
	if err != nil {
		return f, err
	}
	defer s.stop()
	r := &rollout{site: s}
	if err := r.run(ctx); err != nil {
		return f, errors.Join(err, s.plane.failed())
	}
	return r.figures, r.check()
}

// site is a cluster with its hosts, ready for a rollout.
type site struct {
	options
	dir     string
	plane   *controlPlane
	fleet   *fleet.Fleet
	minions *minions
	apps    []app
	tally   *tally
	watches *watches
	out     io.Writer
}

func (b *benchmark) startSite(ctx context.Context, dir string) (s *site, err error) {
	s = &site{options: b.options, dir: dir, out: b.out, apps: apps(b.nodes * b.podsPerNode)}
	defer func() {
		if err != nil {
			s.stop()
			s = nil
		}
	}()
	programs, err := kube.Programs(b.artifacts, b.cache)
	if err != nil {
		return s, err
	}
	programs[kube.KWOK] = b.kwok
	files := filepath.Join(dir, "control-plane")
	if err := os.MkdirAll(files, 0o755); err != nil {
		return s, err
	}
	if s.plane, err = startControlPlane(ctx, files, programs); err != nil {
		return s, err
	}
	if s.fleet, err = fleet.Start(b.nodes+1, fleet.Options{Dir: filepath.Join(dir, "fleet"), Name: hostName}); err != nil {
		return s, err
	}
	if err := writeKeys(s.fleet.Hosts[0], s.plane.keys); err != nil {
		return s, err
	}
	if s.minions, err = startMinions(s.fleet, b.chooseFailing()); err != nil {
		return s, err
	}
	return s, s.fill(ctx)
}

// fill creates nodes and pods, and returns when all of them are available.
func (s *site) fill(ctx context.Context) error {
	began := time.Now()
	s.tally = newTally(s.apps)
	s.watches = startWatches(ctx, s.plane.api, s.tally)
	if err := s.createNodes(ctx, s.plane.api); err != nil {
		return fmt.Errorf("creating nodes: %w", err)
	}
	if err := s.await(ctx, "nodes that take pods", func() bool { return s.tally.upNodes() == s.nodes }); err != nil {
		return err
	}
	fmt.Fprintf(s.out, "%5.0f s: %d nodes are Ready\n", time.Since(began).Seconds(), s.nodes)
	if err := createApps(ctx, s.plane.api, s.apps); err != nil {
		return fmt.Errorf("creating Deployments: %w", err)
	}
	if err := s.await(ctx, "available pods", func() bool { return s.tally.pending(s.apps) == 0 }); err != nil {
		return err
	}
	fmt.Fprintf(s.out, "%5.0f s: the pods of %d Deployments are available\n", time.Since(began).Seconds(), len(s.apps))
	return nil
}

// await waits for a state of the tally, at most settleTime.
func (s *site) await(ctx context.Context, what string, reached func() bool) error {
	limit := time.After(settleTime)
	for {
		event := s.tally.next()
		if reached() {
			return nil
		}
		select {
		case <-event:
		case <-s.watches.failed():
			return s.watches.err()
		case <-limit:
			return fmt.Errorf("waiting for %s: timeout after %s", what, settleTime)
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// stop stops everything that was started.
func (s *site) stop() {
	if s.watches != nil {
		s.watches.stop()
	}
	if s.minions != nil {
		s.minions.stop()
	}
	if s.fleet != nil {
		s.fleet.Close()
	}
	if s.plane != nil {
		s.plane.stop()
	}
}
