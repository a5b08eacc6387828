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

// Irreversible is a change that a revert cannot restore.
type Irreversible struct {
	What    string   `json:"what"`
	Hosts   []string `json:"hosts"`
	lasting bool     // the state of hosts differs, or may differ, from the one before the run
}

// irreversibleList collects changes; hosts with the same change share an entry.
type irreversibleList struct{ all []Irreversible }

// add adds a change of a host. Texts that differ only in the name of their host share
// an entry, in which the name is HOST.
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

// replaceHostname replaces the host's name, as a whole word, by HOST.
func replaceHostname(text, host string) string {
	return regexp.MustCompile(`\b`+regexp.QuoteMeta(host)+`\b`).ReplaceAllLiteralString(text, "HOST")
}

// irreversible lists the changes that cannot be reverted: lost backups, purged history,
// unreachable hosts, and steps without a backup.
func (r *Revert) irreversible(found *RevertPreview) []Irreversible {
	unreachable := map[string]string{}
	for _, h := range found.Report.Broken() {
		unreachable[h.Host] = h.Failure.Message
	}
	list := &irreversibleList{}
	for _, host := range found.hosts {
		past, asked := found.Past[host]
		changed := r.log.changed[host]
		switch {
		case !asked:
			list.add(host, "all changes of the run on the host, which is unreachable ("+view.NormalizeHosts(host, unreachable[host])+")", len(changed) > 0 || len(r.log.hosts) == 0)
			continue
		case !past.Known && len(changed) > 0:
			list.add(host, fmt.Sprintf("all changes of the run on the host (%d steps), which has no record of the run any more", len(changed)), true)
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

// withoutBackup lists the steps that changed something on a host without a backup.
func (r *Revert) withoutBackup(host string, all map[string]engine.RunHistory, list *irreversibleList) {
	listed := map[string]bool{}
	for _, c := range r.log.changed[host] {
		if where, step := c.backupOf(host); !hasBackup(all[where], step) {
			list.add(host, c.String()+r.uncordonHint(c), false)
		}
		listed[c.step] = true
	}
	for _, step := range all[host].WithoutBackup {
		if action, _, ok := cutLast(step, "."); listed[step] || r.log.unchanged[host][step] || ok && listed[action] {
			continue // the step of an action stands for the modules that it ran
		}
		if _, by, delegated := strings.Cut(step, "/"); delegated && len(r.log.changed[by]) > 0 {
			continue // listed for the host of the play
		}
		list.add(host, r.taskName(step), false)
	}
}

// uncordonHint returns the remedy for a node that the run has left drained.
func (r *Revert) uncordonHint(c changedStep) string {
	if !r.log.drained[c.drained] {
		return ""
	}
	return ": the node accepts no pods; run: kubectl uncordon " + c.drained
}

// hasBackup reports whether a host has a backup of a step.
func hasBackup(past engine.RunHistory, step string) bool {
	return slices.ContainsFunc(past.Items, func(i engine.ChangeRecord) bool { return slices.Contains(i.Steps, step) })
}

// taskName returns the name of a step's task.
func (r *Revert) taskName(step string) string {
	name := "step " + step
	for _, t := range r.program.Tasks {
		if t.ID == taskOf(step) {
			name = t.Name
		}
	}
	return name
}

// cutLast cuts text around the last instance of sep.
func cutLast(text, sep string) (before, after string, found bool) {
	i := strings.LastIndex(text, sep)
	if i < 0 {
		return text, "", false
	}
	return text[:i], text[i+len(sep):], true
}

// Unrestored is a sink that collects the resources that a revert failed to restore
// although its preview listed them.
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

// Of returns the collected resources of a completed revert, with hosts in the order of
// its report.
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
