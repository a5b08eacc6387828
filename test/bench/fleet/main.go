// Command fleet measures the time, memory and traffic that many hosts cost the
// controller. It starts a fleet of simulated hosts in a separate process (see
// test/fleet), behind a network with latency, and runs the real deployer with a
// playbook on them: a first time, a second time with nothing to change, and a third
// time after a variable of one host has changed. See docs/performance.md.
package main

import (
	"fmt"
	"os"
	"path/filepath"
	"time"

	"deployer/test/bench/measure"
)

func main() {
	b := benchmark{out: os.Stdout}
	cmd := measure.Benchmark{Name: "fleet", Short: "What many hosts cost the controller", Complete: b.complete, Run: b.run}.Command()
	f := cmd.Flags()
	f.IntSliceVar(&b.sizes, "hosts", []int{100, 300, 1000, 3000}, "sizes of the fleet, one after the other")
	f.IntVar(&b.steps, "steps", 300, "steps on each host")
	f.IntVar(&b.forks, "forks", 50, "hosts that are worked on at once")
	f.DurationVar(&b.latency, "latency", 20*time.Millisecond, "round trip of the network")
	f.StringVar(&b.deployer, "deployer", "bin/deployer", "the program to measure")
	f.StringVar(&b.dir, "dir", "/dev/shm", "where the hosts' directories are made; a disk would be what is measured")
	f.StringVar(&b.profile, "profile", "", "directory for profiles of the controller and the hosts, one below it for each run")
	cmd.AddCommand(hostsCommand())
	measure.Main(cmd)
}

// complete checks the flags and makes paths absolute.
func (b *benchmark) complete() error {
	if b.steps < 1 || b.forks < 1 || b.latency < 0 || len(b.sizes) == 0 {
		return fmt.Errorf("--steps, --forks and --hosts must be at least 1, and --latency not negative")
	}
	var err error
	if b.deployer, err = measure.Program(b.deployer); err != nil {
		return err
	}
	if b.profile != "" {
		b.profile, err = filepath.Abs(b.profile)
	}
	return err
}
