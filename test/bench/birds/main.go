// Command birds measures what the BGP sessions of a cluster cost by its size, as a full mesh and with
// route reflectors. It starts one BIRD for each node of a cluster, with the configuration that deployer
// renders, in network namespaces on a bridge of their own, and waits until each kernel has the routes to the
// pods of all other nodes; then one more node joins. See docs/performance.md.
//
// It needs root and ip of iproute2. Namespaces and processes end with the benchmark; those that a killed one
// has left are removed when the next one starts.
package main

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"deployer/test/bench/measure"
)

func main() {
	b := benchmark{out: os.Stdout}
	cmd := measure.Benchmark{Name: "birds", Short: "What the BGP sessions of many nodes cost, as a mesh and with reflectors", Complete: b.complete, Run: b.run}.Command()
	f := cmd.Flags()
	f.IntSliceVar(&b.sizes, "speakers", []int{10, 25, 50, 100, 200}, "numbers of nodes before one joins, one after the other")
	f.IntSliceVar(&b.reflectors, "reflectors", []int{0, 2, 3}, "numbers of route reflectors; 0 is a full mesh")
	f.StringVar(&b.root, "bird", "", "directory with the unpacked Debian packages bird2 and libssh-gcrypt-4 (required)")
	f.StringVar(&b.plot, "plot", "", "write a plot of the figures to this SVG file")
	measure.Main(cmd)
}

// maxSpeakers is the number of pod ranges that the cluster of the benchmark has, less the node that joins.
const maxSpeakers = 1<<(nodePrefix-podPrefix) - 1

// complete checks the flags.
func (b *benchmark) complete() error {
	if os.Geteuid() != 0 {
		return fmt.Errorf("network namespaces need root")
	}
	if len(b.sizes) == 0 || len(b.reflectors) == 0 {
		return fmt.Errorf("--speakers and --reflectors must not be empty")
	}
	for _, n := range b.sizes {
		if n < 4 || n > maxSpeakers {
			return fmt.Errorf("--speakers %d: want 4 to %d", n, maxSpeakers)
		}
	}
	for _, r := range b.reflectors {
		if r < 0 || r > 3 {
			return fmt.Errorf("--reflectors %d: want 0 to 3; the cluster has three masters", r)
		}
	}
	slices.Sort(b.sizes)
	if b.root == "" {
		return fmt.Errorf("--bird is missing: run make bench-bird")
	}
	var err error
	b.program, err = measure.Program(filepath.Join(b.root, "usr/sbin/bird"))
	return err
}
