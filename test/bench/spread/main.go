// Command spread compares ways to bring a blob to many hosts, over simulated links in virtual time:
// the controller alone, one registry, and hosts that forward chunks as package engine/spread plans,
// also when some of them die, lie or are slow. The last line of the output has the figures of the
// healthy network.
package main

import (
	"flag"
	"fmt"
	"os"
	"slices"
	"time"

	"deployer/engine/spread"
	"deployer/engine/spread/peer"
	"deployer/test/spreadsim"
)

func main() {
	hosts := flag.Int("hosts", 1000, "number of hosts")
	rack := flag.Int("rack", 40, "hosts of a rack")
	megabytes := flag.Int("mb", 700, "size of the blob in MB")
	core := flag.Float64("core", 10, "speed of the core in Gb/s")
	forks := flag.Int("forks", 50, "hosts that the controller alone serves at a time")
	seed := flag.Uint64("seed", 1, "choice of the hosts that misbehave")
	flag.Parse()
	base := spreadsim.Options{
		Hosts: *hosts, PerRack: *rack, Chunks: (*megabytes*1e6 + peer.ChunkSize - 1) / peer.ChunkSize,
		Link: gigabit, Core: *core * gigabit, Limits: spread.DefaultLimits(), Seed: *seed, HealthyOnly: true,
	}
	if err := compare(base, *forks); err != nil {
		fmt.Fprintln(os.Stderr, "bench-spread:", err)
		os.Exit(1)
	}
}

// gigabit is 1 Gb/s in bytes per second.
const gigabit = 125e6

// row is one way to distribute the blob.
type row struct {
	name   string
	change func(*spreadsim.Options)
	step   time.Duration
	limit  time.Duration
}

// share is the share of hosts that misbehave.
const share = 0.01

func compare(base spreadsim.Options, forks int) error {
	rows := []row{
		{"controller alone", func(o *spreadsim.Options) { o.Alone, o.Together = true, forks }, 500 * time.Millisecond, 24 * time.Hour},
		{"one registry of 10 Gb/s", func(o *spreadsim.Options) { o.Alone, o.Server = true, 10*gigabit }, 500 * time.Millisecond, 24 * time.Hour},
		{"hosts", func(*spreadsim.Options) {}, stepTime, time.Hour},
		{"hosts, a core of 10 Gb/s for each rack", func(o *spreadsim.Options) { o.Core *= float64(o.Hosts/o.PerRack + 1) }, stepTime, time.Hour},
		{"hosts, 1 % die", func(o *spreadsim.Options) { o.Dying = share }, stepTime, time.Hour},
		{"hosts, 1 % lie", func(o *spreadsim.Options) { o.Lying = share }, stepTime, time.Hour},
		{"hosts, 1 % have 10 Mb/s", func(o *spreadsim.Options) { o.Slow = share }, stepTime, time.Hour},
		{"hosts, 1 % each", func(o *spreadsim.Options) { o.Dying, o.Lying, o.Slow = share, share, share }, stepTime, time.Hour},
	}
	fmt.Fprintf(os.Stdout, "%d hosts in racks of %d, %d MB in %d chunks\n\n", base.Hosts, base.PerRack, base.Chunks*peer.ChunkSize/1e6, base.Chunks)
	fmt.Fprintln(os.Stdout, "| | p50 s | p99 s | p99.9 s | last s | copies from the controller | copies over the core |")
	fmt.Fprintln(os.Stdout, "|---|---|---|---|---|---|---|")
	summary := ""
	for _, r := range rows {
		o := base
		r.change(&o)
		w := spreadsim.New(o)
		if err := w.Run(r.step, r.limit); err != nil {
			return fmt.Errorf("%s: %w", r.name, err)
		}
		size := float64(o.Chunks * peer.ChunkSize)
		times := done(w)
		fmt.Fprintf(os.Stdout, "| %s | %.1f | %.1f | %.1f | %.1f | %.1f | %.0f |\n", r.name, at(times, 0.5), at(times, 0.99), at(times, 0.999), at(times, 1), w.SentByController/size, w.CoreBytes/size)
		if r.name == "hosts" {
			summary = fmt.Sprintf("spread hosts=%d copies_from_controller=%.1f p99_s=%.1f", o.Hosts, w.SentByController/size, at(times, 0.99))
		}
		if copies := w.SentByController / size; !o.Alone && copies > float64(o.Limits.Copies) {
			return fmt.Errorf("%s: the controller has sent %.1f copies, more than %d", r.name, copies, o.Limits.Copies)
		}
	}
	fmt.Fprintf(os.Stdout, "\n%s\n", summary)
	return nil
}

const stepTime = 20 * time.Millisecond

// done returns the sorted times in seconds after which healthy hosts had the blob.
func done(w *spreadsim.World) []float64 {
	var out []float64
	for _, h := range w.Hosts {
		if h.Done > 0 && !h.Slow {
			out = append(out, h.Done.Seconds())
		}
	}
	slices.Sort(out)
	return out
}

// at returns a quantile of sorted values.
func at(sorted []float64, q float64) float64 {
	return sorted[min(len(sorted)-1, int(q*float64(len(sorted))))]
}
