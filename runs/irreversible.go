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

// Irreversible is something that is not put back.
type Irreversible struct {
	What  string   `json:"what"`
	Hosts []string `json:"hosts"`
	// lasting: something is not as it was before, as far as anybody knows.
	lasting bool
}

// irreversibleList gathers what hosts have in common.
type irreversibleList struct{ all []Irreversible }

// add takes in what one host has. Where hosts differ in nothing but their own
// names, these are written as HOST.
func (c *irreversibleList) add(host, what string, lasting bool) {
	i := slices.IndexFunc(c.all, func(one Irreversible) bool { return one.What == what })
	if i < 0 {
		general := replaceHostname(what, host)
		i = slices.IndexFunc(c.all, func(one Irreversible) bool { return replaceHostname(one.What, one.Hosts[0]) == general })
		if i >= 0 {
			c.all[i].What = general
		}
	}
	if i < 0 {
		i = len(c.all)
		c.all = append(c.all, Irreversible{What: what})
	}
	c.all[i].lasting = c.all[i].lasting || lasting
	if !slices.Contains(c.all[i].Hosts, host) {
		c.all[i].Hosts = append(c.all[i].Hosts, host)
	}
}

// replaceHostname has HOST where a text has the host's name as a word of its own.
func replaceHostname(text, host string) string {
	return regexp.MustCompile(`\b`+regexp.QuoteMeta(host)+`\b`).ReplaceAllLiteralString(text, "HOST")
}

// irreversible lists what cannot be put back: what hosts have lost, or forgotten, and
// steps that kept nothing.
func (r *Revert) irreversible(found *RevertPreview) []Irreversible {
	silent := map[string]string{}
	for _, h := range found.Report.Broken() {
		silent[h.Host] = h.Failure.Message
	}
	list := &irreversibleList{}
	for _, host := range found.hosts {
		past, asked := found.Past[host]
		changed := r.log.changed[host]
		switch {
		case !asked:
			list.add(host, "all that the run changed there: the host was not reached ("+view.NormalizeHosts(host, silent[host])+")", len(changed) > 0 || len(r.log.hosts) == 0)
			continue
		case !past.Known && len(changed) > 0:
			list.add(host, fmt.Sprintf("all that the run changed there (%d steps): the host has no record of it any more", len(changed)), true)
			continue
		}
		for _, item := range past.Items {
			if item.State == engine.RevertLost {
				list.add(host, item.Label()+": "+item.Reason, true)
			}
		}
		r.withoutBackup(host, found.Past, list)
	}
	return list.all
}

// withoutBackup lists the steps that changed something on a host and kept nothing.
func (r *Revert) withoutBackup(host string, all map[string]engine.RunHistory, list *irreversibleList) {
	told := map[string]bool{}
	for _, c := range r.log.changed[host] {
		if where, step := c.backupOf(host); !hasBackup(all[where], step) {
			list.add(host, c.String()+r.uncordonHint(c), false)
		}
		told[c.step] = true
	}
	for _, step := range all[host].WithoutBackup {
		if action, _, ok := cutLast(step, "."); told[step] || r.log.unchanged[host][step] || ok && told[action] {
			continue // a module that an action has run is named by the action's step
		}
		if _, by, delegated := strings.Cut(step, "/"); delegated && len(r.log.changed[by]) > 0 {
			continue // named where the play's host is
		}
		list.add(host, r.taskName(step), false)
	}
}

// uncordonHint is what to do about a node that the run has left drained.
func (r *Revert) uncordonHint(c changedStep) string {
	if !r.log.drained[c.drained] {
		return ""
	}
	return ": it takes no pods until kubectl uncordon " + c.drained
}

// hasBackup tells whether a host has kept something that a step has changed.
func hasBackup(past engine.RunHistory, step string) bool {
	return slices.ContainsFunc(past.Items, func(i engine.ChangeRecord) bool { return slices.Contains(i.Steps, step) })
}

// taskName is what people call a step.
func (r *Revert) taskName(step string) string {
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

// Unrestored is a sink of events that gathers what a revert could not put back,
// although it had seemed so.
type Unrestored struct {
	mu   sync.Mutex
	list irreversibleList
}

// Emit implements engine.Sink.
func (l *Unrestored) Emit(e engine.Event) {
	if e.Type != engine.EventStepEnd || e.Result == nil {
		return
	}
	stays, _ := e.Result.Output["stays"].([]any)
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, s := range stays {
		if m, ok := s.(map[string]any); ok {
			thing := engine.ChangeRecord{Kind: fmt.Sprint(m["kind"]), Name: fmt.Sprint(m["name"])}
			l.list.add(e.Host, fmt.Sprintf("%s: %v", thing.Label(), m["why"]), true)
		}
	}
}

// Of are the leftovers of a revert that has ended, hosts in the order of its
// report.
func (l *Unrestored) Of(report *engine.Report) []Irreversible {
	l.mu.Lock()
	defer l.mu.Unlock()
	place := map[string]int{}
	for i, h := range report.Hosts {
		place[h.Host] = i
	}
	for _, c := range l.list.all {
		slices.SortFunc(c.Hosts, func(a, b string) int { return place[a] - place[b] })
	}
	return l.list.all
}
