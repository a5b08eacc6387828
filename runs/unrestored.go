package runs

import (
	"fmt"
	"slices"
	"sync"

	"deployer/engine"
)

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
			change := engine.ChangeRecord{Kind: fmt.Sprint(m["kind"]), Name: fmt.Sprint(m["name"])}
			l.list.add(e.Host, fmt.Sprintf("%s: %v", change.Label(), m["why"]), true)
		}
	}
}

// ForReport returns the collected resources of a completed revert, with hosts in the order of
// its report.
func (l *Unrestored) ForReport(report *engine.Report) []Irreversible {
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
