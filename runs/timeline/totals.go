package timeline

import (
	"cmp"
	"slices"
	"time"
)

// Slowest returns the n steps that took longest on one host, the slowest first. Steps that
// took less than a millisecond are left out.
func (t *Timeline) Slowest(n int) []*Step {
	out := slices.DeleteFunc(slices.Clone(t.Steps), func(s *Step) bool { return s.Longest < time.Millisecond })
	slices.SortStableFunc(out, func(a, b *Step) int { return cmp.Compare(b.Longest, a.Longest) })
	return out[:min(n, len(out))]
}

// WaitTotal are the waits of all hosts for one thing that the same host caused.
type WaitTotal struct {
	Kind    Kind
	For     string
	Cause   string // the host; empty when it is not known, or no host caused the waits
	Hosts   int    // that waited
	Total   time.Duration
	Longest time.Duration
}

// WaitsByCause returns the waits of all hosts, the largest total first.
func (t *Timeline) WaitsByCause() []WaitTotal {
	type key struct{ reason, cause string }
	totals := map[key]*WaitTotal{}
	waited := map[key]map[string]bool{}
	var order []key
	for _, h := range t.Hosts {
		for i := range h.Waits {
			w := &h.Waits[i]
			k := key{w.For, w.Cause}
			if totals[k] == nil {
				totals[k] = &WaitTotal{Kind: w.Kind, For: w.For, Cause: w.Cause}
				waited[k] = map[string]bool{}
				order = append(order, k)
			}
			waited[k][h.Name] = true
			totals[k].Total += w.To - w.From
			totals[k].Longest = max(totals[k].Longest, w.To-w.From)
		}
	}
	out := make([]WaitTotal, 0, len(order))
	for _, k := range order {
		totals[k].Hosts = len(waited[k])
		out = append(out, *totals[k])
	}
	slices.SortStableFunc(out, func(a, b WaitTotal) int { return cmp.Compare(b.Total, a.Total) })
	return out
}

// HostTotal is the time that all other hosts waited for one host.
type HostTotal struct {
	Host  string
	Waits int
	Total time.Duration
}

// Causes returns the hosts for which others waited, the longest first.
func (t *Timeline) Causes() []HostTotal {
	index := map[string]int{}
	var out []HostTotal
	for _, h := range t.Hosts {
		for _, w := range h.Waits {
			if w.Cause == "" {
				continue
			}
			i, ok := index[w.Cause]
			if !ok {
				i = len(out)
				index[w.Cause] = i
				out = append(out, HostTotal{Host: w.Cause})
			}
			out[i].Waits++
			out[i].Total += w.To - w.From
		}
	}
	slices.SortStableFunc(out, func(a, b HostTotal) int { return cmp.Compare(b.Total, a.Total) })
	return out
}

// HostTime is the time of all hosts together, by what they did.
type HostTime struct {
	Steps, Waits, Between time.Duration
}

// HostTime returns the time of all hosts, each until its last event.
func (t *Timeline) HostTime() (sum HostTime) {
	for _, h := range t.Hosts {
		var steps time.Duration
		for _, s := range h.Spans {
			steps += s.To - s.From
		}
		sum.Steps += steps
		sum.Waits += h.Waited()
		sum.Between += max(h.Last-steps-h.Waited(), 0)
	}
	return sum
}
