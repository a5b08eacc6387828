package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"time"

	"deployer/test/bench/kube"
)

// fillTime is the maximum time until all pods run.
const fillTime = 20 * time.Minute

// site is a cluster under the load of its nodes.
type site struct {
	options
	out      io.Writer
	dir      string
	rootfs   map[string]string // of the API proxies by kind
	network  *network
	plane    *plane
	proxy    *apiProxy
	proxies  int // API proxies that were started
	observer *observer
	nodes    *nodes
	prober   *prober
}

// startSite starts everything, with an API proxy of the default settings.
func (b *benchmark) startSite(ctx context.Context, dir string) (s *site, err error) {
	s = &site{options: b.options, out: b.out, dir: dir, rootfs: map[string]string{}}
	defer func() {
		if err != nil {
			err = errors.Join(err, s.failed())
			s.stop()
			s = nil
		}
	}()
	programs, err := kube.Programs(b.artifacts, b.cache)
	if err != nil {
		return s, err
	}
	programs[kube.KWOK] = b.kwok
	for _, kind := range []string{"haproxy", "nginx"} {
		if s.rootfs[kind], err = kube.RootFS(b.artifacts, b.cache, kind); err != nil {
			return s, err
		}
	}
	if s.network, err = newNetwork(ctx, masterCount); err != nil {
		return s, err
	}
	for i := range masterCount {
		if err := os.MkdirAll(filepath.Join(dir, masterName(i)), 0o755); err != nil {
			return s, err
		}
	}
	began := time.Now()
	if s.plane, err = startPlane(ctx, s.network, dir, programs, settings{}); err != nil {
		return s, err
	}
	s.log(began, "three API servers are ready")
	s.observer = startObserver(ctx, s.plane.api())
	if err := s.fill(ctx); err != nil {
		return s, err
	}
	s.log(began, fmt.Sprintf("%d pods run on %d nodes", b.pods, b.nodes))
	if b.wantsWatches() {
		if err := s.nodes.watch(ctx); err != nil {
			return s, err
		}
		s.log(began, fmt.Sprintf("%d watches are open", s.nodes.watches()))
	}
	s.prober, err = startProber(ctx, s.plane, s.proxy.address)
	return s, err
}

// fill creates nodes and pods, and returns when all of them are Ready. The kubelets live from the
// beginning, but do not watch: the changes of pods that start would only be sent to them.
func (s *site) fill(ctx context.Context) error {
	if err := prepareProber(ctx, s.plane.api()); err != nil {
		return err
	}
	if err := s.useProxy(ctx, settings{}, 1); err != nil {
		return err
	}
	if err := createNodes(ctx, s.plane.api(), s.options.nodes); err != nil {
		return err
	}
	var err error
	if s.nodes, err = startNodes(ctx, s.plane, s.proxy.address, s.options.nodes); err != nil {
		return err
	}
	if err := createPods(ctx, s.plane.api(), s.options.pods, s.options.nodes); err != nil {
		return err
	}
	if err := s.await(ctx, "running pods", fillTime, func() bool {
		return s.observer.readyNodes() == s.options.nodes && s.observer.runningPods(nil) == s.options.pods
	}); err != nil {
		return fmt.Errorf("%w: %d of %d nodes are Ready, %d of %d pods run", err, s.observer.readyNodes(), s.options.nodes, s.observer.runningPods(nil), s.options.pods)
	}
	return createApps(ctx, s.plane.api(), s.options.pods)
}

// useProxy starts an API proxy with other settings, moves the nodes to it, and stops the former one.
func (s *site) useProxy(ctx context.Context, with settings, checks int) error {
	c, err := resolve(with)
	if err != nil {
		return err
	}
	former := s.proxy
	host := proxyNames[s.proxies%len(proxyNames)]
	s.proxies++
	next, err := startProxy(ctx, s.dir, s.rootfs[c.Proxy.Kind], c, host, checks)
	if err != nil {
		return err
	}
	s.proxy = next
	if former == nil {
		return nil
	}
	defer former.process.Stop()
	s.prober.client.move(next.address)
	return s.nodes.move(ctx, next.address)
}

// await waits until reached returns true, or a program has ended.
func (s *site) await(ctx context.Context, what string, limit time.Duration, reached func() bool) error {
	end := time.After(limit)
	for !reached() {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-end:
			return fmt.Errorf("waiting for %s: timeout after %s", what, limit)
		case <-time.After(500 * time.Millisecond):
		}
		if err := s.failed(); err != nil {
			return err
		}
	}
	return nil
}

// failed returns an error when a program has ended.
func (s *site) failed() error {
	if s.plane == nil {
		return nil
	}
	err := s.plane.failed()
	if s.proxy != nil {
		err = errors.Join(err, s.proxy.process.Ended())
	}
	return err
}

func (s *site) log(began time.Time, text string) {
	fmt.Fprintf(s.out, "%5.0f s: %s\n", time.Since(began).Seconds(), text)
}

// stop stops everything that was started.
func (s *site) stop() {
	if s.prober != nil {
		s.prober.stop()
	}
	if s.nodes != nil {
		s.nodes.stop()
	}
	if s.observer != nil {
		s.observer.stop()
	}
	if s.proxy != nil {
		s.proxy.process.Stop()
	}
	if s.plane != nil {
		s.plane.stop()
	}
	if s.network != nil {
		s.network.remove()
	}
}

// parts is the processor time of each kind of program.
type parts struct {
	API         float64 `json:"api"`
	Proxy       float64 `json:"proxy"`
	Etcd        float64 `json:"etcd"`
	Controllers float64 `json:"controllers"` // controller managers and schedulers
	KWOK        float64 `json:"kwok"`
	Clients     float64 `json:"clients"` // this program: all kubelets and kube-proxies
}

// processorTime returns the processor seconds of the running programs.
func (s *site) processorTime() (p parts, err error) {
	times, err := groupTimes()
	if err != nil {
		return p, err
	}
	of := func(processes ...*kube.Process) (sum float64) {
		for _, r := range processes {
			if r != nil {
				sum += times[r.Group()].Seconds()
			}
		}
		return sum
	}
	for _, m := range s.plane.masters {
		p.API += of(m.running[apiProcess])
		p.Etcd += of(m.running[etcdProcess], m.running[eventsProcess])
		p.Controllers += of(m.running[controllerProcess], m.running[schedulerProcess])
	}
	p.KWOK, p.Proxy, p.Clients = of(s.plane.kwok), of(s.proxy.process), times[os.Getpid()].Seconds()
	return p, nil
}

// per returns the parts since before, divided by seconds: the mean number of busy processors. A program
// that was started again in between counts from then on, and not at all when it had used more before.
func (p parts) per(before parts, seconds float64) parts {
	used := func(after, before float64) float64 { return max(after-before, 0) / seconds }
	return parts{
		API: used(p.API, before.API), Proxy: used(p.Proxy, before.Proxy), Etcd: used(p.Etcd, before.Etcd),
		Controllers: used(p.Controllers, before.Controllers), KWOK: used(p.KWOK, before.KWOK), Clients: used(p.Clients, before.Clients),
	}
}

// milliseconds returns a percentile of durations in ms.
func milliseconds(all []time.Duration, p float64) float64 {
	return float64(percentile(all, p).Microseconds()) / 1000
}

// wants reports whether a stage is to run.
func (o options) wants(stage string) bool { return slices.Contains(o.stages, stage) }

// wantsWatches reports whether a stage measures what the watches of nodes cost. The keeper does not depend on them.
func (o options) wantsWatches() bool {
	return slices.ContainsFunc(o.stages, func(stage string) bool { return stage != "keeper" })
}
