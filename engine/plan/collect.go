package plan

import (
	"slices"
	"strings"
	"sync"

	"deployer/engine"
)

// Collector collects changes from the events of a run: of a dry run for a plan, of a
// real run to show what it did. Collector is an engine.Sink.
type Collector struct {
	mu      sync.Mutex
	changes []Change
	index   map[string]int // index into changes, by step, effects and fingerprints
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
	case e.Type == engine.EventRunEnd:
		c.report = e.Report
	case e.Type == engine.EventStepEnd && e.Result != nil:
		c.step(e, e.Result)
	}
}

func (c *Collector) step(e engine.Event, r *engine.Result) {
	change := Change{Step: r.Step, Name: r.Name, Role: e.Role, Unknown: r.Unknown, MaxParallel: r.MaxParallel}
	if r.Change != nil && r.Failure == nil {
		change.Effects = slices.Clone(r.Change.Pending())
	} else if r.Status == engine.StatusChanged { // from a log without effects
		change.Effects = []engine.Effect{{}}
	}
	if len(change.Effects) == 0 && change.Unknown == "" {
		return
	}
	key := strings.Join([]string{change.Step, change.Name, change.Unknown}, "\x00")
	for _, effect := range change.Effects {
		change.Fingerprints = append(change.Fingerprints, effect.Fingerprint())
		key += "\x00" + effect.Fingerprint() + "\x00" + effect.Reason
	}
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

// merge adds the diffs of another host with the same change, where each host has its
// own: the pods of drained nodes.
func (c *Change) merge(other Change) {
	for i := range c.Effects {
		if e := &c.Effects[i]; e.Kind == engine.EffectDrain {
			e.Diff += other.Effects[i].Diff
		}
	}
}

// Plan returns the plan of a dry run. order are the hosts of a run that has no
// report.
func (c *Collector) Plan(order []string) *Plan {
	c.mu.Lock()
	defer c.mu.Unlock()
	leftOut := map[string]string{}
	p := c.of(c.names(order, leftOut))
	p.LeftOut = leftOut
	return p
}

// Everything is Plan with the hosts that were left out: what a run did, whatever its
// outcome.
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

// names returns the hosts that completed the run, and adds the others to leftOut.
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
