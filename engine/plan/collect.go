package plan

import (
	"slices"
	"strings"
	"sync"

	"deployer/engine"
)

// Collector gathers changes from the events of a run: of a dry run for a plan, of
// a real one to show what it did. It is an engine.Sink.
type Collector struct {
	mu      sync.Mutex
	changes []Change
	index   map[string]int // of a change by what tells it apart
	hosts   map[string][]int
	report  *engine.Report
}

// NewCollector returns an empty Collector.
func NewCollector() *Collector {
	return &Collector{index: map[string]int{}, hosts: map[string][]int{}}
}

// Emit implements engine.Sink.
func (c *Collector) Emit(e engine.Event) {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case e.Type == engine.RunEnd:
		c.report = e.Report
	case e.Type == engine.StepEnd && e.Result != nil:
		c.step(e, e.Result)
	}
}

func (c *Collector) step(e engine.Event, r *engine.Result) {
	change := Change{Step: r.Step, Name: r.Name, Role: e.Role, Unknown: r.Unknown, MaxParallel: r.AtOnce}
	if r.Change != nil && r.Failure == nil {
		change.Effects = slices.Clone(r.Change.Pending())
	} else if r.Status == engine.Altered { // of a log without effects
		change.Effects = []engine.Effect{{}}
	}
	if len(change.Effects) == 0 && change.Unknown == "" {
		return
	}
	for _, effect := range change.Effects {
		change.Fingerprints = append(change.Fingerprints, effect.Fingerprint())
	}
	key := strings.Join(append([]string{change.Step, change.Name, change.Unknown}, change.Fingerprints...), "\x00")
	at, known := c.index[key]
	if !known {
		at = len(c.changes)
		c.index[key] = at
		c.changes = append(c.changes, change)
	} else {
		c.changes[at].merge(change)
	}
	c.hosts[e.Host] = append(c.hosts[e.Host], at)
}

// merge adds what another host with the same change has beside it: of nodes that
// are drained the pods, which each have their own.
func (c *Change) merge(other Change) {
	for i := range c.Effects {
		if e := &c.Effects[i]; e.Kind == engine.EffectDrain {
			e.Diff += other.Effects[i].Diff
		}
	}
}

// Plan makes a plan of what a dry run found: its Changes, Hosts and LeftOut. A
// run without an end has the hosts given.
func (c *Collector) Plan(order []string) *Plan {
	c.mu.Lock()
	defer c.mu.Unlock()
	leftOut := map[string]string{}
	p := c.of(c.names(order, leftOut))
	p.LeftOut = leftOut
	return p
}

// Everything is Plan with the hosts that were left out as well: what a run did,
// however it ended.
func (c *Collector) Everything(order []string) *Plan {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.of(order)
}

func (c *Collector) of(hosts []string) *Plan {
	p := &Plan{Format: Format, Changes: slices.Clone(c.changes)}
	for _, name := range hosts {
		h := Host{Name: name, Changes: slices.Clone(c.hosts[name])}
		h.markStaleness(p.Changes)
		p.Hosts = append(p.Hosts, h)
	}
	return p
}

// names are the hosts that came to their end.
func (c *Collector) names(order []string, leftOut map[string]string) []string {
	if c.report == nil {
		return order
	}
	var out []string
	for _, h := range c.report.Hosts {
		switch {
		case h.Failure != nil:
			leftOut[h.Host] = strings.TrimPrefix(h.Failure.Message, h.Host+": ")
		case h.Cancelled:
			leftOut[h.Host] = "stopped because of other hosts"
		default:
			out = append(out, h.Host)
		}
	}
	return out
}
