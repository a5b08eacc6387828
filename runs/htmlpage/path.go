package htmlpage

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"deployer/runs/timeline"
)

// PathRow is a part of the critical path, or short parts on one host that follow each
// other.
type PathRow struct {
	Host, What     string
	From, Took     string
	Percent        int // of the run
	Held, For      string
	start, elapsed time.Duration
	short          bool // further short parts may join
	steps          int  // of a row of short parts
}

// path makes the rows of the critical path: short parts on the same host share one. Of
// more than maxPathRows rows the longest stay, in the order of their times.
func (p *Page) path(t *timeline.Timeline) {
	p.Path = foldPath(t, t.CriticalPath())
	if more := len(p.Path) - maxPathRows; more > 0 {
		byLength := slices.Clone(p.Path)
		slices.SortStableFunc(byLength, func(a, b PathRow) int { return cmp.Compare(b.elapsed, a.elapsed) })
		var rest time.Duration
		for _, r := range byLength[maxPathRows:] {
			rest += r.elapsed
		}
		p.PathRest = fmt.Sprintf("%d shorter parts are left out, %s together.", more, clock(rest))
		p.Path = byLength[:maxPathRows]
		slices.SortStableFunc(p.Path, func(a, b PathRow) int { return cmp.Compare(a.start, b.start) })
	}
	for i := range p.Path {
		r := &p.Path[i]
		r.From, r.Took = clock(r.start), clock(r.elapsed)
		if t.Length > 0 {
			r.Percent = int((r.elapsed*100 + t.Length/2) / t.Length)
		}
	}
}

func foldPath(t *timeline.Timeline, parts []timeline.Part) []PathRow {
	var out []PathRow
	for _, part := range parts {
		took, steps := part.To-part.From, 0
		if part.Kind == timeline.PathStep {
			steps = 1
		}
		short := took < t.Length/pathFraction
		if n := len(out); n > 0 && short && out[n-1].short && out[n-1].Host == part.Host && out[n-1].Held == "" {
			last := &out[n-1]
			last.steps += steps
			last.elapsed += took
			last.What = "between steps: the controller and the network"
			if last.steps > 0 {
				last.What = fmt.Sprintf("short steps (%d) and the time between them", last.steps)
			}
			last.Held, last.For = part.Held, part.For
			continue
		}
		out = append(out, PathRow{Host: part.Host, What: describe(t, part), Held: part.Held, For: part.For, start: part.From, elapsed: took, short: short, steps: steps})
	}
	return out
}

func describe(t *timeline.Timeline, p timeline.Part) string {
	switch p.Kind {
	case timeline.PathStep:
		return t.Steps[p.Step].Title()
	case timeline.PathWait:
		return "waits: " + p.Wait.For
	case timeline.PathConnect:
		return "connects"
	case timeline.PathEnd:
		return "the end of the run, after the last step"
	}
	return "between steps: the controller and the network"
}
