package main

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"deployer/engine"
)

// criticalPath is the chain of spans that determined the duration of the run. It goes
// backwards from the end of the slowest host, and at each wait changes to the host
// that ended the wait.
func criticalPath(events []engine.Event, start, end time.Time) []span {
	byHost := map[string][]span{}
	for _, e := range events {
		if _, ok := byHost[e.Host]; !ok && e.Host != "" {
			byHost[e.Host] = spans(events, e.Host, start, end)
		}
	}
	var path []span
	host := slowest(events)
	for at := end; at.After(start); {
		i := slices.IndexFunc(byHost[host], func(s span) bool { return s.begin.Before(at) && !s.end.Before(at) })
		if i < 0 {
			break
		}
		s := byHost[host][i]
		s.end = at
		if s.wait {
			if by, ended, ok := releaser(events, byHost, s); ok {
				s.begin = ended // the way of the news
				if s.end.After(s.begin) {
					path = append(path, s)
				}
				host, at = by, ended
				continue
			}
		}
		path = append(path, s)
		at = s.begin
	}
	slices.Reverse(path)
	return path
}

// releaser returns the host whose step ended a wait: among the hosts that the wait
// names, or all hosts when it names none, the host with the last step that ended
// within the wait.
func releaser(events []engine.Event, byHost map[string][]span, wait span) (host string, ended time.Time, ok bool) {
	var named []string
	for _, word := range strings.FieldsFunc(wait.what, func(r rune) bool { return strings.ContainsRune(` ,:"()`, r) }) {
		if _, ok := byHost[word]; ok && word != wait.host {
			named = append(named, word)
		}
	}
	for _, e := range events {
		if !done(e) || e.Host == wait.host || !e.Time.After(wait.begin) || e.Time.After(wait.end) {
			continue
		}
		if len(named) > 0 && !slices.Contains(named, e.Host) {
			continue
		}
		if !e.Time.Before(ended) {
			host, ended, ok = e.Host, e.Time, true
		}
	}
	return host, ended, ok
}

// Limits of the report: minimum duration of a step, number of steps, width of a column.
const (
	shortest  = 50 * time.Millisecond
	mostSteps = 12
	column    = 62
)

// account prints the critical path by host and role, its
// longest steps, and the time of the slowest host by role and wait.
func account(events []engine.Event, start, end time.Time) []string {
	host := slowest(events)
	if host == "" {
		return []string{"no host has carried out a step"}
	}
	path := criticalPath(events, start, end)
	lines := []string{"critical path, by host and role"}
	lines = append(lines, table(totals(path, func(s span) string { return s.host + "  " + s.what }))...)

	steps := slices.DeleteFunc(slices.Clone(path), func(s span) bool { return s.step == "" })
	slices.SortStableFunc(steps, func(a, b span) int { return cmp.Compare(b.took(), a.took()) })
	steps = steps[:min(mostSteps, len(steps))]
	lines = append(lines, "its longest steps")
	lines = append(lines, table(totals(steps, func(s span) string { return s.host + "  " + s.what + ": " + s.step }))...)

	lines = append(lines, "the slowest host, "+host+", by role and wait")
	return append(lines, table(totals(spans(events, host, start, end), func(s span) string { return s.what }))...)
}

func table(rows []total) []string {
	var lines []string
	for _, r := range rows {
		if r.took >= shortest {
			lines = append(lines, fmt.Sprintf("  %-*s %6.2f s", column, r.what, r.took.Seconds()))
		}
	}
	return lines
}
