package main

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"sync"

	"deployer/engine"
	"deployer/engine/journal"
	"deployer/inventory"
)

// due tells whether there is anything to do: to put back, or to finish.
func (l *lookedBack) due() bool {
	for _, p := range l.past {
		if p.Unfinished != "" || slices.ContainsFunc(p.Items, func(i engine.PastItem) bool { return i.Fate == engine.PutBack }) {
			return true
		}
	}
	return false
}

// drifted lists what somebody has changed since the run.
func (l *lookedBack) drifted() []cannot {
	list := &cannots{}
	for _, host := range l.order {
		for _, i := range l.past[host].Items {
			if i.Fate != engine.Drifted {
				continue
			}
			who := ""
			if i.Run != "" {
				who = " (by run " + i.Run + ")"
			}
			list.add(host, i.Label()+who, true)
		}
	}
	return list.all
}

// verdict refuses when something has drifted.
func (l *lookedBack) verdict() error {
	if len(l.drifted()) > 0 {
		return &exitError{exitRefused, errors.New("nothing was changed: what is listed above was changed since; revert later runs first, or put everything back all the same with --force")}
	}
	return nil
}

// left tells whether something stays as the run left it.
func (l *lookedBack) left() bool {
	return slices.ContainsFunc(l.cannot, func(c cannot) bool { return c.lasting })
}

// print shows what will be put back and what cannot be, hosts with the same
// things together.
func (l *lookedBack) print(w io.Writer, r *reverting) {
	what := l.changes.Everything(l.order)
	if len(what.Changes) > 0 {
		fmt.Fprintf(w, "what run %s changed will be put back:\n", r.id)
		printChanges(w, what, r.options.diff || r.options.verbose > 0, r.options.verbose > 0)
	} else if l.due() {
		fmt.Fprintf(w, "what run %s changed is put back; what has to follow is still to be done\n", r.id)
	} else {
		fmt.Fprintf(w, "there is nothing to put back: what run %s changed is as it was before\n", r.id)
	}
	printCannot(w, "changed since by others:", l.drifted())
	printCannot(w, "cannot be undone:", l.cannot)
	for _, text := range l.leftOut {
		fmt.Fprintf(w, "not waited for: %s\n", text)
	}
	if r.from != "" {
		fmt.Fprintf(w, "\nrun %s went on from run %s; what that one had changed stays, until:\n  deployer revert %s\n", r.id, r.from, r.from)
	}
}

func printCannot(w io.Writer, title string, list []cannot) {
	if len(list) == 0 {
		return
	}
	fmt.Fprintf(w, "\n%s\n", title)
	for _, c := range list {
		fmt.Fprintf(w, "  %s: %s\n", inventory.CompressText(c.Hosts), c.What)
	}
}

// asJSON is the same for programs.
func (l *lookedBack) asJSON() any {
	return struct {
		Hosts   map[string]engine.Past `json:"hosts"`
		Drifted []cannot               `json:"drifted"`
		Cannot  []cannot               `json:"cannot"`
		LeftOut []string               `json:"left_out"`
	}{l.past, orEmpty(l.drifted()), orEmpty(l.cannot), orEmpty(l.leftOut)}
}

func orEmpty[T any](list []T) []T {
	if list == nil {
		return []T{}
	}
	return list
}

// leftovers gathers what a revert could not put back.
type leftovers struct {
	mu    sync.Mutex
	stays cannots
}

// Emit implements engine.Sink.
func (p *leftovers) Emit(e engine.Event) {
	if e.Type != engine.StepEnd || e.Result == nil {
		return
	}
	stays, _ := e.Result.Output["stays"].([]any)
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, s := range stays {
		if m, ok := s.(map[string]any); ok {
			thing := engine.PastItem{Kind: fmt.Sprint(m["kind"]), Name: fmt.Sprint(m["name"])}
			p.stays.add(e.Host, fmt.Sprintf("%s: %v", thing.Label(), m["why"]), true)
		}
	}
}

func (p *leftovers) left() bool { return len(p.stays.all) > 0 }

// print says what the summary of a run does not.
func (p *leftovers) print(w io.Writer, call journal.Call, report *engine.Report) {
	p.mu.Lock()
	defer p.mu.Unlock()
	place := map[string]int{}
	for i, h := range report.Hosts {
		place[h.Host] = i
	}
	for _, c := range p.stays.all {
		slices.SortFunc(c.Hosts, func(a, b string) int { return place[a] - place[b] })
	}
	printCannot(w, "could not be put back:", p.stays.all)
	if report.Outcome() == engine.RunDone && (call.Verb == "install" || call.Verb == "run") {
		fmt.Fprintf(w, "\nthe inventory and the playbook still say what the run did: change them, or the next run does it again\n")
	}
}
