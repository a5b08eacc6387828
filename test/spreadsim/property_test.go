package spreadsim_test

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"deployer/engine/spread"
	"deployer/engine/spread/peer"
	"deployer/test/spreadsim"
)

// worlds is the number of random worlds that TestRandomWorlds tries.
const worlds = 50

// TestRandomWorlds checks what holds in every world: each living host gets every chunk, the
// controller sends few copies, racks receive one stream, uploads are bounded, and a liar that was found is not
// asked again.
func TestRandomWorlds(t *testing.T) {
	for seed := range uint64(worlds) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) { t.Parallel(); checkWorld(t, randomWorld(seed)) })
	}
}

func randomWorld(seed uint64) spreadsim.Options {
	r := rand.New(rand.NewPCG(seed, 7))
	o := spreadsim.Options{
		Hosts: 1 + r.IntN(120), PerRack: 1 + r.IntN(40), Chunks: 1 + r.IntN(40),
		Link: 125e6, Core: 1250e6, Limits: spread.DefaultLimits(), Seed: seed,
	}
	for _, share := range []*float64{&o.Dying, &o.Lying, &o.Slow, &o.Closed} {
		if r.IntN(2) == 0 {
			*share = r.Float64() * 0.12
		}
	}
	if r.IntN(2) == 0 {
		o.Arrival = time.Duration(r.Int64N(int64(20 * time.Second)))
	}
	return o
}

func checkWorld(t *testing.T, o spreadsim.Options) {
	w := spreadsim.New(o)
	w.Observe = func(w *spreadsim.World) {
		if err := bounds(w); err != nil {
			t.Fatalf("%+v\nat %v: %v", o, w.Now, err)
		}
	}
	if err := w.Run(20*time.Millisecond, 10*time.Minute); err != nil {
		t.Fatalf("%+v\n%v", o, err)
	}
	if copies, _ := w.Planner.Sent(spreadsim.Blob); copies > o.Limits.Copies*o.Chunks {
		t.Errorf("%+v\nthe controller has sent %d chunks as copies, more than %d blobs", o, copies, o.Limits.Copies)
	}
	for _, h := range w.Hosts {
		for liar, n := range h.Misled {
			if n > 1 {
				t.Errorf("%+v\n%s took %d chunks from %s, which lies", o, h.Name, n, liar)
			}
		}
		if h.AfterAll > 0 {
			t.Errorf("%+v\n%s took %d chunks from excluded hosts", o, h.Name, h.AfterAll)
		}
	}
}

// bounds checks the sources of one moment.
func bounds(w *spreadsim.World) error {
	uploads, incoming := map[string]int{}, map[string]int{}
	for _, h := range w.Hosts {
		if h.Done > 0 || h.Source.Waits() || h.Dies > 0 && w.Now >= h.Dies {
			continue
		}
		if h.Source.Peer != "" {
			uploads[h.Source.Peer]++
		}
		if s := h.Source.Peer; s != "" && rackOf(w, s) != h.Rack {
			incoming[h.Rack]++
		}
	}
	for host, n := range uploads {
		if n > w.Limits.BlobUploads {
			return fmt.Errorf("%s serves %d hosts", host, n)
		}
	}
	return rackBounds(w, incoming)
}

func rackOf(w *spreadsim.World, host string) string {
	for _, h := range w.Hosts {
		if h.Name == host {
			return h.Rack
		}
	}
	return ""
}

// rackBounds checks that a rack without slow, dying or unreachable hosts receives one stream.
func rackBounds(w *spreadsim.World, incoming map[string]int) error {
	if w.Dying+w.Lying+w.Slow+w.Closed > 0 {
		return nil
	}
	for rack, n := range incoming {
		if n > 1 {
			return fmt.Errorf("rack %s receives %d streams over the core", rack, n)
		}
	}
	return nil
}

// TestThousandHosts checks the goal: 700 MB to 1000 hosts with few copies from the controller.
func TestThousandHosts(t *testing.T) {
	if testing.Short() {
		t.Skip("takes seconds")
	}
	w := spreadsim.New(spreadsim.Options{Hosts: 1000, PerRack: 40, Chunks: 700 << 20 / peer.ChunkSize, Link: 125e6, Core: 1250e6, Limits: spread.DefaultLimits()})
	if err := w.Run(50*time.Millisecond, 5*time.Minute); err != nil {
		t.Fatal(err)
	}
	t.Logf("all hosts after %v, %.2f copies from the controller, %.2f over the core", w.Now,
		w.SentByController/(700<<20), w.CoreBytes/(700<<20))
	if w.Now > time.Minute {
		t.Errorf("it took %v", w.Now)
	}
}
