// Package spreadsim simulates the distribution of a blob over hosts with links of limited
// speed, in virtual time and with the planner of engine/spread. It counts what crosses the
// links, and checks nothing: tests and the benchmark do.
//
// Each host has a link to the switch of its rack, with the same speed in both directions; all
// traffic between racks, and that of the controller, shares the core. Transfers share links
// fairly. Hosts react as those of engine/spread/peer do, with its time limits.
package spreadsim

import (
	"cmp"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"time"

	"deployer/engine/spread"
	"deployer/engine/spread/peer"
)

// Blob is the name of the blob.
const Blob = "blob"

// Options describe a world.
type Options struct {
	Hosts, PerRack int
	Chunks         int     // of peer.ChunkSize bytes
	Link           float64 // bytes per second of a host, and of the controller unless Server is set
	Server         float64 // bytes per second of the controller
	Core           float64 // bytes per second of the core
	Limits         spread.Limits
	// Dying, Lying, Slow and Closed are the shares of the hosts that lose their power during
	// the run, send wrong bytes, have a link of a hundredth of the speed, and have a packet filter
	// that drops connections of peers.
	Dying, Lying, Slow, Closed float64
	// Arrival is the time over which hosts request the blob, at random; 0: all at once.
	Arrival time.Duration
	Seed    uint64
	// Alone has the controller send to each host, Together hosts at a time; no peers.
	Alone    bool
	Together int
	// HealthyOnly ends the simulation when all hosts with fast links have the blob.
	HealthyOnly bool
	// Observe is called after each step; may be nil.
	Observe func(*World)
}

// Host is a simulated host.
type Host struct {
	Name, Rack string
	Dies       time.Duration // 0: never
	Lies       bool
	Slow       bool
	Closed     bool
	Begins     time.Duration // when it requests the blob
	Done       time.Duration // when it had the blob; 0: not yet

	Source    spread.Source
	Have      int
	Misled    map[string]int // by liar, the chunks that the host took from it
	AfterAll  int            // chunks that it took from hosts that were excluded before
	requested bool
	left      bool
	part      float64       // bytes of the next chunk
	inChunk   time.Duration // since the transfer of the chunk began
	idle      time.Duration // since the source had something
	rate      float64
	slowest   time.Duration
	reported  time.Duration
}

func (h *Host) dead(now time.Duration) bool { return h.Dies > 0 && now >= h.Dies }

// World is the state of a simulation.
type World struct {
	Options
	Now     time.Duration
	Hosts   []*Host
	Planner *spread.Planner
	// SentByController are the bytes that the controller has sent, CoreBytes those that crossed
	// the core.
	SentByController, CoreBytes float64

	byName map[string]*Host
}

// New returns a world at its begin. Host 0 is honest and lives.
func New(o Options) *World {
	r := rand.New(rand.NewPCG(o.Seed, 1))
	w := &World{Options: o, byName: map[string]*Host{}}
	var hosts []spread.Host
	for i := range o.Hosts {
		h := &Host{Name: fmt.Sprintf("n%04d", i), Rack: fmt.Sprintf("r%02d", i/o.PerRack), Misled: map[string]int{}}
		if o.Arrival > 0 {
			h.Begins = time.Duration(r.Int64N(int64(o.Arrival)))
		}
		if i > 0 {
			switch x := r.Float64(); {
			case x < o.Dying:
				h.Dies = time.Millisecond + time.Duration(r.Int64N(int64(12*time.Second)))
			case x < o.Dying+o.Lying:
				h.Lies = true
			case x < o.Dying+o.Lying+o.Slow:
				h.Slow = true
			case x < o.Dying+o.Lying+o.Slow+o.Closed:
				h.Closed = true
			}
		}
		w.Hosts, w.byName[h.Name] = append(w.Hosts, h), h
		hosts = append(hosts, spread.Host{Name: h.Name, Rack: h.Rack})
	}
	w.Planner = spread.NewPlanner(hosts, o.Limits)
	return w
}

// sessionTimeout is the time after which the controller misses a host without power.
const sessionTimeout = 30 * time.Second

// Run advances the world by steps until all living hosts have the blob, or until limit.
func (w *World) Run(step, limit time.Duration) error {
	for w.Now = 0; w.Now < limit; w.Now += step {
		w.begin()
		w.share()
		w.advance(step)
		w.timeouts(step)
		if w.Observe != nil {
			w.Observe(w)
		}
		if w.finished() {
			return nil
		}
	}
	return fmt.Errorf("after %v hosts still miss the blob: %v", limit, w.missing())
}

func (w *World) missing() []string {
	var out []string
	for _, h := range w.Hosts {
		if h.Done == 0 && !h.dead(w.Now) {
			out = append(out, fmt.Sprintf("%s has %d, source %+v", h.Name, h.Have, h.Source))
		}
	}
	return out
}

func (w *World) finished() bool {
	return !slices.ContainsFunc(w.Hosts, func(h *Host) bool {
		return h.Done == 0 && !h.dead(w.Now) && !(w.HealthyOnly && h.Slow)
	})
}

// begin has hosts request the blob, and the controller notice hosts that are gone.
func (w *World) begin() {
	inFlight := 0
	for _, h := range w.Hosts {
		if h.requested && h.Done == 0 && !h.dead(w.Now) {
			inFlight++
		}
	}
	for _, h := range w.Hosts {
		switch {
		case h.dead(w.Now) && !h.left && w.Now >= h.Dies+sessionTimeout:
			h.left = true
			w.apply(w.Planner.Leave(h.Name))
		case h.requested || h.dead(w.Now) || w.Now < h.Begins:
		case w.Alone:
			if w.Together == 0 || inFlight < w.Together {
				h.requested, h.Source = true, spread.Source{Controller: true}
				inFlight++
			}
		default:
			h.requested = true
			w.apply(w.Planner.Request(h.Name, Blob, w.Chunks))
			w.apply(w.Planner.Listening(h.Name, true))
		}
	}
}

func (w *World) apply(all []spread.Assignment) {
	for _, a := range all {
		h := w.byName[a.Host]
		if h.Source != a.Source {
			h.Source, h.part, h.inChunk, h.idle, h.rate = a.Source, 0, 0, 0, 0
		}
	}
}

// flows reports whether bytes move to the host.
func (w *World) flows(h *Host) bool {
	if !h.requested || h.Done > 0 || h.dead(w.Now) || h.Source.Waits() {
		return false
	}
	if h.Source.Controller {
		return true
	}
	s := w.byName[h.Source.Peer]
	return !s.dead(w.Now) && !s.Closed && s.Have > h.Have
}

// link is a shared line.
type link struct {
	free  float64
	flows []*Host
}

// share computes fair rates: the most crowded link gives each of its flows the same part, then
// the next one, until all flows have a rate.
func (w *World) share() {
	links := map[string]*link{}
	of := map[*Host][]*link{}
	use := func(name string, speed float64, h *Host) {
		l := links[name]
		if l == nil {
			l = &link{free: speed}
			links[name] = l
		}
		l.flows = append(l.flows, h)
		of[h] = append(of[h], l)
	}
	open := 0
	for _, h := range w.Hosts {
		h.rate = -1
		if !w.flows(h) {
			h.rate = 0
			continue
		}
		open++
		use("down "+h.Name, w.speed(h), h)
		if h.Source.Controller {
			use("controller", cmp.Or(w.Server, w.Link), h)
			use("core", w.Core, h)
			continue
		}
		s := w.byName[h.Source.Peer]
		use("up "+s.Name, w.speed(s), h)
		if s.Rack != h.Rack {
			use("core", w.Core, h)
		}
	}
	w.fill(links, of, open)
}

func (w *World) speed(h *Host) float64 {
	if h.Slow {
		return w.Link / 100
	}
	return w.Link
}

func (w *World) fill(links map[string]*link, of map[*Host][]*link, open int) {
	for open > 0 {
		lowest := math.Inf(1)
		for _, l := range links {
			if n := unset(l.flows); n > 0 {
				lowest = min(lowest, l.free/float64(n))
			}
		}
		// All links at the lowest share are full now.
		var full []*link
		for _, l := range links {
			if n := unset(l.flows); n > 0 && l.free/float64(n) <= lowest*1.000001 {
				full = append(full, l)
			}
		}
		for _, l := range full {
			for _, h := range l.flows {
				if h.rate >= 0 {
					continue
				}
				h.rate = lowest
				open--
				for _, other := range of[h] {
					other.free = max(0, other.free-lowest)
				}
			}
		}
	}
}

func unset(flows []*Host) int {
	n := 0
	for _, h := range flows {
		if h.rate < 0 {
			n++
		}
	}
	return n
}

// advance moves bytes for one step.
func (w *World) advance(step time.Duration) {
	for _, h := range w.Hosts {
		if h.rate <= 0 {
			continue
		}
		bytes := h.rate * step.Seconds()
		if h.Source.Controller {
			w.SentByController += bytes
			w.CoreBytes += bytes
		} else if w.byName[h.Source.Peer].Rack != h.Rack {
			w.CoreBytes += bytes
		}
		h.part += bytes
		h.inChunk += step
		h.idle = 0
		source := h.Source
		for h.part >= peer.ChunkSize && h.Source == source && h.Done == 0 {
			if !source.Controller && w.byName[source.Peer].Have <= h.Have {
				h.part = peer.ChunkSize
				break
			}
			h.part -= peer.ChunkSize
			w.chunk(h)
		}
	}
}

// chunk completes a chunk of a host.
func (w *World) chunk(h *Host) {
	if s := w.byName[h.Source.Peer]; s != nil && s.Lies {
		h.Misled[s.Name]++
		if _, excluded := w.Planner.Excluded()[s.Name]; excluded {
			h.AfterAll++
		}
		w.apply(w.Planner.Fail(h.Name, Blob, s.Name, spread.Corrupt))
		return
	}
	h.Have++
	h.slowest = max(h.slowest, h.inChunk)
	h.inChunk = 0
	if h.Have == w.Chunks {
		h.Done = w.Now
	}
	if w.Alone {
		return
	}
	if h.Done > 0 || w.Now-h.reported >= peer.ReportInterval || h.slowest >= peer.ReportAtOnce {
		took := h.slowest
		h.slowest, h.reported = 0, w.Now
		w.apply(w.Planner.Progress(h.Name, Blob, h.Have, took))
	}
}

// timeouts reports what hosts have waited for too long.
func (w *World) timeouts(step time.Duration) {
	for _, h := range w.Hosts {
		if w.Alone || !h.requested || h.Done > 0 || h.dead(w.Now) || h.rate > 0 {
			if h.rate > 0 && !w.Alone && h.inChunk > peer.ChunkTimeout && h.Source.Peer != "" {
				w.apply(w.Planner.Fail(h.Name, Blob, h.Source.Peer, spread.Slow))
			}
			continue
		}
		h.idle += step
		if h.Source.Waits() {
			if h.idle >= peer.Patience {
				w.apply(w.Planner.Force(h.Name, Blob))
			}
			continue
		}
		s := w.byName[h.Source.Peer]
		switch {
		case s == nil:
		case s.Closed && h.idle >= peer.DialTimeout, s.dead(w.Now) && h.idle >= peer.ResponseTimeout:
			w.apply(w.Planner.Fail(h.Name, Blob, s.Name, spread.Unreachable))
		case s.Closed || s.dead(w.Now):
		case h.idle >= peer.StarveTimeout:
			h.idle = 0
			w.apply(w.Planner.Fail(h.Name, Blob, s.Name, spread.Starved))
		}
	}
}
