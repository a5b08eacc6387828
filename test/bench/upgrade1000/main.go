// Command upgrade1000 shows a rollout over the nodes of a large cluster: drained,
// changed and uncordoned in batches by the real deployer, while a real API server
// with its controllers and scheduler moves their pods. KWOK simulates the nodes and
// the pods, and hosts of test/fleet are the machines under the nodes. The change
// breaks one host in a hundred; in the middle of the rollout the controller is
// killed, and another one resumes the run. The benchmark watches nodes and pods, and
// fails when a limit of the rollout or a PodDisruptionBudget is ever exceeded. See
// docs/performance.md.
package main

import (
	"fmt"
	"os"
	"path/filepath"
	"time"

	"deployer/images"
	"deployer/test/bench/measure"
)

// options are the flags of the benchmark.
type options struct {
	nodes, podsPerNode     int
	zones                  int
	batch, zoneLimit, kill int
	seed                   uint64
	deployer, kwok         string
	artifacts, cache, dir  string
	keep                   bool
}

func main() {
	b := benchmark{out: os.Stdout}
	cmd := measure.Benchmark{Name: "upgrade1000", Short: "A rollout over a thousand nodes that KWOK plays", Complete: b.complete, Run: b.run}.Command()
	f := cmd.Flags()
	f.IntVar(&b.nodes, "nodes", 1000, "nodes of the cluster")
	f.IntVar(&b.podsPerNode, "pods-per-node", 3, "pods of Deployments, as a mean")
	f.IntVar(&b.zones, "zones", 5, "zones that the nodes are in")
	f.IntVar(&b.batch, "batch", 0, "nodes that may be unavailable at one time; default: one in twenty, at least 6")
	f.IntVar(&b.zoneLimit, "zone-limit", 0, "nodes of one zone that may be unavailable at one time; default: the zone's part of the batch and a fifth more")
	f.IntVar(&b.kill, "kill", 0, "number of nodes after which the controller is killed; default: half of them")
	f.Uint64Var(&b.seed, "seed", uint64(time.Now().UnixNano()%1_000_000), "seed of the choice of hosts that fail; default: a new one")
	f.StringVar(&b.deployer, "deployer", "bin/deployer", "the program to measure")
	f.StringVar(&b.kwok, "kwok", "", "the program kwok, which make installs (required)")
	f.StringVar(&b.artifacts, "artifacts", "", "directory of built artifacts (default: artifacts-src in deployer's cache)")
	f.StringVar(&b.dir, "dir", "/dev/shm", "where etcd and the hosts have their files; a disk would be what is measured")
	f.BoolVar(&b.keep, "keep", false, "keep the files, with the logs of all programs")
	measure.Main(cmd)
}

// complete checks the flags and makes paths absolute.
func (b *benchmark) complete() error {
	if b.kill == 0 {
		b.kill = b.nodes / 2
	}
	if b.batch == 0 {
		b.batch = max(b.nodes/20, 6)
	}
	if b.zoneLimit == 0 && b.zones > 0 {
		b.zoneLimit = b.batch/b.zones + max(b.batch/b.zones/5, 1)
	}
	if b.nodes < 10 || b.zones < 1 || b.batch < 1 || b.zoneLimit < 1 || b.kill < 1 || b.kill >= b.nodes {
		return fmt.Errorf("--nodes must be at least 10, --kill below it, and --zones, --batch and --zone-limit at least 1")
	}
	if b.kwok == "" {
		return fmt.Errorf("--kwok is missing: `make bench-upgrade1000` installs and names it")
	}
	root, err := images.DefaultRoot()
	if err != nil {
		return err
	}
	b.cache = filepath.Join(root, "bench-upgrade1000")
	if b.artifacts == "" {
		b.artifacts = filepath.Join(root, "artifacts-src")
	}
	if b.kwok, err = filepath.Abs(b.kwok); err != nil {
		return err
	}
	b.deployer, err = measure.Program(b.deployer)
	return err
}
