// Command scale measures the control plane of a large cluster under the load of its nodes: three real
// API servers with both of their etcd clusters, controller managers and schedulers, with the flags that
// deployer gives them, behind the API proxy with the configuration that deployer renders. KWOK plays the
// pods; for each node the program is a client with the watches, the Lease and the reports of a kubelet
// and a kube-proxy. The benchmark repeats the findings of a report on 1000 nodes from 2016, see
// docs/scale.md.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"

	"deployer/images"
	"deployer/test/bench/measure"
)

// options are the flags of the benchmark.
type options struct {
	nodes, pods      int
	window, settle   time.Duration
	stages           []string
	results          string
	fleet            string
	kwok, keeper     string
	artifacts, cache string
	dir              string
	keep             bool
}

// benchmark is the whole benchmark.
type benchmark struct {
	options
	out io.Writer
}

// stageNames are what can be measured, in its order. Rack, proxy and keeper need clusters of their own: behind rack
// and keeper, nodes are dead.
var stageNames = []string{"restart", "leader", "inflight", "rack", "proxy", "keeper"}

func main() {
	b := benchmark{out: os.Stdout}
	cmd := measure.Benchmark{Name: "scale", Short: "The control plane under the load of a thousand nodes", Complete: b.complete, Run: b.run}.Command()
	f := cmd.Flags()
	f.IntVar(&b.nodes, "nodes", profileNodes, "nodes of the cluster")
	f.IntVar(&b.pods, "pods", 0, "pods of the cluster; default: ten for each node")
	f.DurationVar(&b.window, "window", 90*time.Second, "time of each measurement")
	f.DurationVar(&b.settle, "settle", 20*time.Second, "time before each measurement, after all watches are back")
	f.StringSliceVar(&b.stages, "stages", stageNames[:4], "what to measure, of "+strings.Join(stageNames, ", ")+"; the other figures of the results file stay. Proxy and keeper need clusters without rack")
	f.StringVar(&b.results, "results", "bin/scale/results.json", "file of the figures")
	f.StringVar(&b.fleet, "fleet", "", "file with the output of bench-fleet, whose figures are put into the results file; nothing is measured with --stages ''")
	f.StringVar(&b.kwok, "kwok", "", "the program kwok, which make installs (required)")
	f.StringVar(&b.keeper, "keeper", "bin/deployer-keeper-linux-"+runtime.GOARCH, "the program deployer-keeper, for stage keeper")
	f.StringVar(&b.artifacts, "artifacts", "", "directory of built artifacts (default: artifacts-src in deployer's cache)")
	f.StringVar(&b.dir, "dir", "/dev/shm", "where etcd has its files; a disk would be what is measured")
	f.BoolVar(&b.keep, "keep", false, "keep the files, with the logs of all programs")
	measure.Main(cmd)
}

// complete checks the flags and makes paths absolute.
func (b *benchmark) complete() error {
	if b.pods == 0 {
		b.pods = 10 * b.nodes
	}
	if b.nodes < 1 || b.nodes > profileNodes || b.pods < 1 {
		return fmt.Errorf("--nodes must be from 1 to %d, and --pods at least 1", profileNodes)
	}
	for _, stage := range b.stages {
		if !slices.Contains(stageNames, stage) {
			return fmt.Errorf("--stages has %q; there are %s", stage, strings.Join(stageNames, ", "))
		}
	}
	if b.kwok == "" && len(b.stages) > 0 {
		return errors.New("--kwok is missing: `make scale` installs and names it")
	}
	root, err := images.DefaultRoot()
	if err != nil {
		return err
	}
	b.cache = filepath.Join(root, "bench-scale")
	if b.artifacts == "" {
		b.artifacts = filepath.Join(root, "artifacts-src")
	}
	b.kwok, err = filepath.Abs(b.kwok)
	return err
}

func (b *benchmark) run(ctx context.Context) error {
	if len(b.stages) > 0 && !insideNamespace() {
		return runInNamespace(ctx)
	}
	r, err := readResults(b.results)
	if err != nil {
		return err
	}
	if b.fleet != "" {
		if err := r.addFleet(b.fleet); err != nil {
			return err
		}
	}
	if len(b.stages) > 0 {
		err = b.runSite(ctx, r)
	}
	if err := errors.Join(err, b.write(r)); err != nil {
		return err
	}
	for _, line := range closingLines(r) {
		fmt.Fprintln(b.out, line)
	}
	return nil
}

// runSite measures a cluster, and adds the figures to r.
func (b *benchmark) runSite(ctx context.Context, r *results) error {
	dir, err := os.MkdirTemp(b.dir, "bench-scale-")
	if err != nil {
		return err
	}
	if !b.keep {
		defer func() { _ = os.RemoveAll(dir) }()
	}
	machine := measure.Machine()
	fmt.Fprintf(b.out, "%d nodes, %d pods; files in %s; %s\n", b.nodes, b.pods, dir, machine)
	if err := ownProc(); err != nil {
		return err
	}
	s, err := b.startSite(ctx, dir)
	if err != nil {
		return err
	}
	defer s.stop()
	r.addRun(runInfo{Nodes: b.nodes, Pods: b.pods, Stages: b.stages, Machine: machine})
	return b.measure(ctx, s, r)
}

// write writes the results, and the page and plots that they make.
func (b *benchmark) write(r *results) error {
	dir := filepath.Dir(b.results)
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	return errors.Join(r.write(b.results), publish(r, dir))
}

// measure runs the stages, and writes the figures after each.
func (b *benchmark) measure(ctx context.Context, s *site, r *results) error {
	for _, stage := range []struct {
		name string
		run  func() error
	}{
		{"restart", func() (err error) {
			r.Restarts, err = s.restartStage(ctx)
			return err
		}},
		{"leader", func() (err error) {
			r.Leader, err = s.leaderStage(ctx)
			return err
		}},
		{"inflight", func() (err error) {
			r.Inflight, err = s.inflightStage(ctx)
			return err
		}},
		{"rack", func() (err error) {
			r.Rack, err = s.rackStage(ctx)
			return err
		}},
		{"proxy", func() (err error) {
			rows, err := s.proxyStage(ctx)
			r.addProxy(rows)
			return err
		}},
		{"keeper", func() error {
			row, err := s.keeperStage(ctx)
			r.addKeeper(row)
			return err
		}},
	} {
		if !b.wants(stage.name) {
			continue
		}
		if err := stage.run(); err != nil {
			return fmt.Errorf("%s: %w", stage.name, errors.Join(err, s.failed()))
		}
		if err := b.write(r); err != nil {
			return err
		}
	}
	return nil
}
