package main

import (
	"cmp"
	"slices"
	"time"

	"deployer/engine"
)

// span is a part of one host's time in a run.
type span struct {
	host       string
	what       string // a role, or what the host waited for
	step       string // the step that ended the span; empty for other spans
	wait       bool   // for other hosts
	begin, end time.Time
}

func (s span) took() time.Duration { return s.end.Sub(s.begin) }

// spans cuts the time of a host, from start to end, at its events. The time between two
// events belongs to the step that ended with the second: its work, the blobs sent for it,
// and the transfer of its message.
func spans(events []engine.Event, host string, start, end time.Time) []span {
	var all []span
	mark, waiting := start, ""
	until := func(t time.Time, s span) {
		if t.After(mark) {
			s.host, s.begin, s.end = host, mark, t
			all = append(all, s)
			mark = t
		}
	}
	for _, e := range events {
		switch {
		case e.Host != host || e.Time.After(end):
		case e.Type == engine.EventHostUp:
			until(e.Time, span{what: "connect, send the agent"})
		case e.Type == engine.EventWait:
			if waiting != "" {
				until(e.Time, span{what: "wait: " + waiting, wait: true})
			} else {
				until(e.Time, span{what: "between steps"})
			}
			waiting = e.Text
		case done(e):
			until(e.Time, span{what: cmp.Or(e.Role, "play"), step: e.Name})
		}
	}
	until(end, span{what: "end of the run"})
	return all
}

// done reports whether a host has executed a step.
func done(e engine.Event) bool {
	return e.Type == engine.EventStepEnd && e.Result != nil && e.Result.Status != engine.StatusSkipped
}

// slowest returns the host whose last step ended last, which determines the duration
// of the run.
func slowest(events []engine.Event) string {
	var host string
	var last time.Time
	for _, e := range events {
		if done(e) && e.Time.After(last) {
			host, last = e.Host, e.Time
		}
	}
	return host
}

// total is the sum of the spans of one kind.
type total struct {
	what string
	took time.Duration
}

// totals adds up the spans by the result of what, in the order of the first span of
// each.
func totals(all []span, what func(span) string) []total {
	var out []total
	for _, s := range all {
		i := slices.IndexFunc(out, func(t total) bool { return t.what == what(s) })
		if i < 0 {
			i = len(out)
			out = append(out, total{what: what(s)})
		}
		out[i].took += s.took()
	}
	return out
}
