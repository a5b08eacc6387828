package picture

import (
	"cmp"
	"fmt"
	"html"
	"io"
	"slices"
	"strings"
	"time"

	"deployer/runs/timeline"
)

// Sizes in pixels.
const (
	width      = 960 // of the time axis
	margin     = 20
	labelWidth = 130
	laneHeight = 22
	barHeight  = 14
	head       = 58 // title and legend
	axisHeight = 34
	nameChars  = 16 // of a host's name
)

// maxLanes is the maximum number of hosts in the picture.
const maxLanes = 60

const style = `
  .back { fill: #ffffff } .grid { stroke: #c9d0d7 } .path { stroke: #1b2128; stroke-width: 2 }
  .failed, .unreachable, .cancelled { fill: #c0182b } .ignored { fill: #a84a00 } .open { fill: #14713a }
  .changed { fill: #0b66c3 } .ok { fill: #74828f } .wait { fill: none; stroke: #946200 }
  text { font: 12px system-ui, "DejaVu Sans", sans-serif; fill: #1b2128 } .title { font-weight: 600; font-size: 14px } .soft { fill: #515b66 }
  @media (prefers-color-scheme: dark) {
    .back { fill: #11151a } .grid { stroke: #3a444f } .path { stroke: #e4e9ee }
    .failed, .unreachable, .cancelled { fill: #ff7b72 } .ignored { fill: #ffa657 } .open { fill: #5fd38a }
    .changed { fill: #58a6ff } .ok { fill: #76828e } .wait { stroke: #d9a520 } text { fill: #e4e9ee } .soft { fill: #a5b0bb }
  }
`

// Write writes the picture of a timeline. Beyond maxLanes hosts it shows those that failed,
// then those of the critical path, then the first ones.
func Write(w io.Writer, title string, t *timeline.Timeline) error {
	d := &drawing{length: max(t.Length, time.Second)}
	path := t.CriticalPath()
	hosts := choose(t.Hosts, path)
	height := head + len(hosts)*laneHeight + axisHeight + margin
	total := labelWidth + width + 2*margin
	d.line(`<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %d %d" width="%d" height="%d" role="img" aria-labelledby="title desc">`, total, height, total, height)
	d.line(`<title id="title">%s</title>`, html.EscapeString(title))
	d.line(`<desc id="desc">%s</desc>`, html.EscapeString(summary(t, hosts)))
	d.line("<style>%s</style>", style)
	d.line(`<rect class="back" width="%d" height="%d"/>`, total, height)
	d.line(`<text class="title" x="%d" y="%d">%s</text>`, margin, margin+4, html.EscapeString(title+": "+summary(t, hosts)))
	d.legend()
	d.axis(head, head+len(hosts)*laneHeight)
	rows := map[string]int{}
	for i, h := range hosts {
		rows[h.Name] = head + i*laneHeight
		d.lane(h, t.Steps, rows[h.Name])
	}
	d.path(path, rows)
	d.line("</svg>")
	_, err := io.WriteString(w, d.out.String())
	return err
}

// choose returns the hosts of the picture, in the order of the run.
func choose(all []*timeline.Host, path []timeline.Part) []*timeline.Host {
	if len(all) <= maxLanes {
		return all
	}
	rank := map[*timeline.Host]int{}
	for _, h := range all {
		switch {
		case h.Broken():
			rank[h] = 0
		case slices.ContainsFunc(path, func(p timeline.Part) bool { return p.Host == h.Name }):
			rank[h] = 1
		default:
			rank[h] = 2
		}
	}
	first := slices.Clone(all)
	slices.SortStableFunc(first, func(a, b *timeline.Host) int { return cmp.Compare(rank[a], rank[b]) })
	chosen := map[*timeline.Host]bool{}
	for _, h := range first[:maxLanes] {
		chosen[h] = true
	}
	return slices.DeleteFunc(slices.Clone(all), func(h *timeline.Host) bool { return !chosen[h] })
}

func summary(t *timeline.Timeline, shown []*timeline.Host) string {
	text := fmt.Sprintf("%d hosts, %d steps, %s", len(t.Hosts), len(t.Steps), t.Length.Round(100*time.Millisecond))
	if len(shown) < len(t.Hosts) {
		text += fmt.Sprintf("; %d of the hosts are shown", len(shown))
	}
	return text
}

type drawing struct {
	out    strings.Builder
	length time.Duration
}

func (d *drawing) line(format string, args ...any) { fmt.Fprintf(&d.out, format+"\n", args...) }

// x returns the place of a time.
func (d *drawing) x(at time.Duration) float64 {
	return margin + labelWidth + width*float64(at)/float64(d.length)
}

func (d *drawing) legend() {
	x := margin
	for _, key := range []struct{ class, text string }{{"changed", "changed"}, {"ok", "unchanged"}, {"failed", "failed or lost"}, {"wait", "waits"}} {
		d.line(`<rect class="%s" x="%d" y="%d" width="12" height="10"/><text class="soft" x="%d" y="%d">%s</text>`, key.class, x, margin+14, x+17, margin+23, key.text)
		x += 35 + 7*len(key.text)
	}
	d.line(`<path class="path" d="M%d %d h12"/><text class="soft" x="%d" y="%d">critical path</text>`, x, margin+19, x+17, margin+23)
}

// axis draws about ten vertical lines with their times.
func (d *drawing) axis(top, bottom int) {
	step := time.Second
	for _, next := range []time.Duration{2 * time.Second, 5 * time.Second, 10 * time.Second, 30 * time.Second, time.Minute, 5 * time.Minute, 15 * time.Minute, time.Hour} {
		if d.length/step > 10 {
			step = next
		}
	}
	for at := time.Duration(0); at <= d.length; at += step {
		d.line(`<path class="grid" d="M%.1f %d V%d"/><text class="soft" x="%.1f" y="%d">%s</text>`, d.x(at), top, bottom+4, d.x(at)-4, bottom+18, at)
	}
}

// lane draws the steps and waits of a host. Steps that are too short to be seen make one bar
// with the worst of their outcomes.
func (d *drawing) lane(h *timeline.Host, steps []*timeline.Step, y int) {
	name := []rune(h.Name)
	if len(name) > nameChars {
		name = append(name[:nameChars-1], '…')
	}
	d.line(`<text x="%d" y="%d">%s</text>`, margin, y+15, html.EscapeString(string(name)))
	for _, wait := range h.Waits {
		if from, to := d.x(wait.From), d.x(wait.To); to-from >= 2 {
			d.line(`<rect class="wait" x="%.1f" y="%d" width="%.1f" height="%d"><title>%s</title></rect>`, from, y+7, to-from, barHeight-6,
				html.EscapeString(fmt.Sprintf("%s waits %s: %s %s", h.Name, (wait.To-wait.From).Round(100*time.Millisecond), wait.Kind, wait.For)))
		}
	}
	for _, b := range d.bars(h.Spans) {
		text := fmt.Sprintf("%s: %d steps", h.Name, b.steps)
		if b.steps == 1 {
			text = fmt.Sprintf("%s: %s (%s)", h.Name, steps[b.step].Title(), b.outcome)
		}
		d.line(`<rect class="%s" x="%.1f" y="%d" width="%.1f" height="%d"><title>%s</title></rect>`, b.outcome, b.from, y+4, b.to-b.from, barHeight, html.EscapeString(text))
	}
}

// bar is one step, or several short ones.
type bar struct {
	from, to float64
	outcome  timeline.Outcome
	step     int
	steps    int
	short    bool // less than 2 pixels, or several such steps
}

func (d *drawing) bars(spans []timeline.Span) []bar {
	spans = slices.Clone(spans)
	slices.SortStableFunc(spans, func(a, b timeline.Span) int { return cmp.Compare(a.From, b.From) })
	worst := timeline.Outcomes()
	var out []bar
	for _, s := range spans {
		from := d.x(s.From)
		next := bar{from: from, to: max(d.x(s.To), from+1), outcome: s.Outcome, step: s.Step, steps: 1}
		next.short = next.to-next.from < 2
		if n := len(out); n > 0 && next.from < out[n-1].to+0.5 && next.short && out[n-1].short {
			last := &out[n-1]
			last.to, last.steps = max(last.to, next.to), last.steps+1
			if slices.Index(worst, next.outcome) < slices.Index(worst, last.outcome) {
				last.outcome = next.outcome
			}
			continue
		}
		out = append(out, next)
	}
	return out
}

// path draws the critical path below the bars, with a line to the next host.
func (d *drawing) path(parts []timeline.Part, rows map[string]int) {
	var words []string
	for _, p := range parts {
		y, shown := rows[p.Host]
		if !shown {
			continue
		}
		verb := "L"
		if len(words) == 0 {
			verb = "M"
		}
		words = append(words, fmt.Sprintf("%s%.1f %d L%.1f %d", verb, d.x(p.From), y+laneHeight-2, d.x(p.To), y+laneHeight-2))
	}
	if len(words) > 0 {
		d.line(`<path class="path" fill="none" d="%s"/>`, strings.Join(words, " "))
	}
}
