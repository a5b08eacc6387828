package timeline

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"deployer/engine"
)

// Collector makes a Timeline of events.
type Collector struct {
	t     *Timeline
	hosts map[string]*Host
	steps map[string]int
	open  map[[2]string]time.Duration // beginnings of steps, by host and step
	since map[string]time.Duration    // beginnings of waits, by host
	waits *waits
	seq   int
	ended bool
}

// NewCollector returns a Collector for a run that started at a time.
func NewCollector(started time.Time) *Collector {
	return &Collector{t: &Timeline{Started: started}, hosts: map[string]*Host{}, steps: map[string]int{}, open: map[[2]string]time.Duration{},
		since: map[string]time.Duration{}, waits: newWaits()}
}

// Add takes the next event.
func (c *Collector) Add(e engine.Event) {
	c.seq++
	at := max(e.Time.Sub(c.t.Started), c.t.Length) // the clock may have been set back
	c.t.Length = at
	if e.Type == engine.EventRunEnd {
		c.ended = true
	}
	if e.Host == "" {
		return
	}
	h := c.host(e.Host)
	h.Last = at
	switch e.Type {
	case engine.EventHostUp:
		if h.Up == 0 {
			h.Up = at
		}
	case engine.EventStepStart:
		if !strings.Contains(e.Step, "/") { // otherwise it belongs to a step of another host
			c.open[[2]string{e.Host, e.Step}] = at
			c.step(e)
		}
	case engine.EventStepEnd:
		if e.Result != nil {
			c.endStep(h, e, at)
		}
	case engine.EventHostParked:
		h.Parked = cmp.Or(e.Text, "it left the run")
		c.endWait(h, at)
		c.waits.active(e.Host)
	case engine.EventWait:
		c.endWait(h, at)
		if e.Text != "" {
			c.since[e.Host] = at
			c.waits.begin(e.Host, ParseReason(e.Text), c.seq)
		}
	}
}

// Timeline returns the run. hosts are its hosts in the wanted order; others follow in the
// order of their first events. The Collector must not be used afterwards.
func (c *Collector) Timeline(hosts []string) *Timeline {
	for _, name := range hosts {
		c.host(name)
	}
	place := map[string]int{}
	for i, name := range hosts {
		place[name] = i - len(hosts)
	}
	slices.SortStableFunc(c.t.Hosts, func(a, b *Host) int { return cmp.Compare(place[a.Name], place[b.Name]) })
	for _, h := range c.t.Hosts {
		if _, waiting := c.since[h.Name]; waiting {
			c.endWaitWith(h, c.t.Length, "")
		}
	}
	if !c.ended {
		c.keepOpen()
	}
	return c.t
}

// keepOpen gives the steps that have begun and not ended spans up to the last event.
func (c *Collector) keepOpen() {
	for key, from := range c.open {
		h, step := c.hosts[key[0]], c.steps[key[1]]
		h.Spans = append(h.Spans, Span{Step: step, From: from, To: c.t.Length, Outcome: Open})
		h.Counts[Open]++
		c.t.Steps[step].Counts[Open]++
	}
	for _, h := range c.t.Hosts { // map order
		slices.SortStableFunc(h.Spans, func(a, b Span) int {
			return cmp.Or(cmp.Compare(a.To, b.To), cmp.Compare(a.From, b.From), cmp.Compare(a.Step, b.Step))
		})
	}
}

func (c *Collector) host(name string) *Host {
	h := c.hosts[name]
	if h == nil {
		h = &Host{Name: name, Counts: map[Outcome]int{}}
		c.hosts[name] = h
		c.t.Hosts = append(c.t.Hosts, h)
	}
	return h
}

// step returns the index of the step of an event.
func (c *Collector) step(e engine.Event) int {
	i, ok := c.steps[e.Step]
	if !ok {
		i = len(c.t.Steps)
		c.steps[e.Step] = i
		c.t.Steps = append(c.t.Steps, &Step{ID: e.Step, Name: cmp.Or(e.Name, e.Step), Counts: map[Outcome]int{}})
	}
	if c.t.Steps[i].Role == "" { // starts of steps have none
		c.t.Steps[i].Role = e.Role
	}
	return i
}

// endStep adds the span of a step. Its time is that of the event less the time that the
// step took, as the clock of the host may differ.
func (c *Collector) endStep(h *Host, e engine.Event, at time.Duration) {
	key := [2]string{e.Host, e.Step}
	delete(c.open, key)
	i, how := c.step(e), outcomeOf(e.Result)
	step := c.t.Steps[i]
	h.Counts[how]++
	step.Counts[how]++
	if how == Outcome(engine.StatusSkipped) {
		return
	}
	var before time.Duration
	if n := len(h.Spans); n > 0 {
		before = h.Spans[n-1].To
	}
	from := max(at-max(e.Result.Elapsed, 0), before, 0)
	h.Spans = append(h.Spans, Span{Step: i, From: from, To: at, Outcome: how, Delegate: e.Result.Delegate})
	took := at - from
	step.Hosts++
	step.Total += took
	if took > step.Longest || step.Slowest == "" {
		step.Longest, step.Slowest = took, h.Name
	}
	c.waits.active(e.Host)
}

// endWait ends the wait of a host, if it waits.
func (c *Collector) endWait(h *Host, at time.Duration) {
	if _, waiting := c.since[h.Name]; waiting {
		open := c.waits.byHost[h.Name].Reason
		c.addWait(h, open, at, c.waits.end(h.Name, c.seq))
	}
}

func (c *Collector) endWaitWith(h *Host, at time.Duration, cause string) {
	open := c.waits.byHost[h.Name].Reason
	delete(c.waits.byHost, h.Name)
	c.addWait(h, open, at, cause)
}

func (c *Collector) addWait(h *Host, r Reason, at time.Duration, cause string) {
	h.Waits = append(h.Waits, Wait{Reason: r, From: c.since[h.Name], To: at, Cause: cause})
	delete(c.since, h.Name)
}
