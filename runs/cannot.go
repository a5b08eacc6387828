package runs

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync"

	"deployer/engine"
	"deployer/engine/view"
)

// Cannot is something that is not put back.
type Cannot struct {
	What  string   `json:"what"`
	Hosts []string `json:"hosts"`
	// lasting: something is not as it was before, as far as anybody knows.
	lasting bool
}

// cannots gathers what hosts have in common.
type cannots struct{ all []Cannot }

// add takes in what one host has. Where hosts differ in nothing but their own
// names, these are written as HOST.
func (c *cannots) add(host, what string, lasting bool) {
	i := slices.IndexFunc(c.all, func(one Cannot) bool { return one.What == what })
	if i < 0 {
		general := nameless(what, host)
		i = slices.IndexFunc(c.all, func(one Cannot) bool { return nameless(one.What, one.Hosts[0]) == general })
		if i >= 0 {
			c.all[i].What = general
		}
	}
	if i < 0 {
		i = len(c.all)
		c.all = append(c.all, Cannot{What: what})
	}
	c.all[i].lasting = c.all[i].lasting || lasting
	if !slices.Contains(c.all[i].Hosts, host) {
		c.all[i].Hosts = append(c.all[i].Hosts, host)
	}
}

// nameless has HOST where a text has the host's name as a word of its own.
func nameless(text, host string) string {
	return regexp.MustCompile(`\b`+regexp.QuoteMeta(host)+`\b`).ReplaceAllLiteralString(text, "HOST")
}

// cannot lists what cannot be put back: what hosts have lost, or forgotten, and
// steps that kept nothing.
func (r *Reverting) cannot(found *Found) []Cannot {
	silent := map[string]string{}
	for _, h := range found.Report.Broken() {
		silent[h.Host] = h.Failure.Message
	}
	list := &cannots{}
	for _, host := range found.order {
		past, asked := found.Past[host]
		changed := r.track.changed[host]
		switch {
		case !asked:
			list.add(host, "all that the run changed there: the host was not reached ("+view.NormalizeHosts(host, silent[host])+")", len(changed) > 0 || len(r.track.hosts) == 0)
			continue
		case !past.Known && len(changed) > 0:
			list.add(host, fmt.Sprintf("all that the run changed there (%d steps): the host has no record of it any more", len(changed)), true)
			continue
		}
		for _, item := range past.Items {
			if item.Fate == engine.Lost {
				list.add(host, item.Label()+": "+item.Why, true)
			}
		}
		r.bare(host, found.Past, list)
	}
	return list.all
}

// bare lists the steps that changed something on a host and kept nothing.
func (r *Reverting) bare(host string, all map[string]engine.Past, list *cannots) {
	told := map[string]bool{}
	for _, c := range r.track.changed[host] {
		if where, step := c.keptAs(host); !keeps(all[where], step) {
			list.add(host, c.String()+r.uncordon(c), false)
		}
		told[c.step] = true
	}
	for _, step := range all[host].Bare {
		if action, _, ok := cutLast(step, "."); told[step] || r.track.idle[host][step] || ok && told[action] {
			continue // a module that an action has run is named by the action's step
		}
		if _, by, delegated := strings.Cut(step, "/"); delegated && len(r.track.changed[by]) > 0 {
			continue // named where the play's host is
		}
		list.add(host, r.nameOf(step), false)
	}
}

// uncordon is what to do about a node that the run has left drained.
func (r *Reverting) uncordon(c changedStep) string {
	if !r.track.open[c.drained] {
		return ""
	}
	return ": it takes no pods until kubectl uncordon " + c.drained
}

// keeps tells whether a host has kept something that a step has changed.
func keeps(past engine.Past, step string) bool {
	return slices.ContainsFunc(past.Items, func(i engine.PastItem) bool { return slices.Contains(i.Steps, step) })
}

// nameOf is what people call a step.
func (r *Reverting) nameOf(step string) string {
	name := "step " + step
	for _, t := range r.program.Tasks {
		if t.ID == taskOf(step) {
			name = t.Name
		}
	}
	return name
}

// cutLast cuts text around the last sep in it.
func cutLast(text, sep string) (before, after string, found bool) {
	i := strings.LastIndex(text, sep)
	if i < 0 {
		return text, "", false
	}
	return text[:i], text[i+len(sep):], true
}

// Leftovers is a sink of events that gathers what a revert could not put back,
// although it had seemed so.
type Leftovers struct {
	mu    sync.Mutex
	stays cannots
}

// Emit implements engine.Sink.
func (l *Leftovers) Emit(e engine.Event) {
	if e.Type != engine.StepEnd || e.Result == nil {
		return
	}
	stays, _ := e.Result.Output["stays"].([]any)
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, s := range stays {
		if m, ok := s.(map[string]any); ok {
			thing := engine.PastItem{Kind: fmt.Sprint(m["kind"]), Name: fmt.Sprint(m["name"])}
			l.stays.add(e.Host, fmt.Sprintf("%s: %v", thing.Label(), m["why"]), true)
		}
	}
}

// Of are the leftovers of a revert that has ended, hosts in the order of its
// report.
func (l *Leftovers) Of(report *engine.Report) []Cannot {
	l.mu.Lock()
	defer l.mu.Unlock()
	place := map[string]int{}
	for i, h := range report.Hosts {
		place[h.Host] = i
	}
	for _, c := range l.stays.all {
		slices.SortFunc(c.Hosts, func(a, b string) int { return place[a] - place[b] })
	}
	return l.stays.all
}
