package htmlpage

import (
	"time"

	"deployer/runs/timeline"
)

// Lanes is the data that the script draws. Times are whole milliseconds. A run on a thousand hosts
// has hundreds of thousands of spans, so spans and waits are lists of numbers.
type Lanes struct {
	Length   int64      `json:"length"`
	Outcomes []string   `json:"outcomes"`
	Steps    []string   `json:"steps"` // titles
	Reasons  []string   `json:"reasons"`
	Hosts    []Lane     `json:"hosts"`
	Path     [][3]int64 `json:"path"` // host, from, to
	outcomes map[timeline.Outcome]int64
	reasons  map[string]int64
	hosts    map[string]int64
}

// Lane is one host.
type Lane struct {
	Name   string `json:"n"`
	Broken bool   `json:"b,omitempty"`
	// Spans has four numbers a span: the step, the time from the end of the span before it
	// to its start, its length, and its outcome.
	Spans []int64 `json:"s"`
	// Waits has four numbers a wait: the reason, the time from the end of the wait before
	// it, its length, and the host that caused the wait or -1.
	Waits []int64 `json:"w,omitempty"`
	// Delegates are the hosts that executed spans instead, by the index of the span.
	Delegates map[int]string `json:"d,omitempty"`
}

func newLanes(t *timeline.Timeline) *Lanes {
	l := &Lanes{Length: ms(t.Length), Steps: []string{}, Reasons: []string{}, Hosts: []Lane{}, Path: [][3]int64{},
		outcomes: map[timeline.Outcome]int64{}, reasons: map[string]int64{}, hosts: map[string]int64{}}
	for i, how := range timeline.Outcomes() {
		l.Outcomes = append(l.Outcomes, string(how))
		l.outcomes[how] = int64(i)
	}
	for _, s := range t.Steps {
		l.Steps = append(l.Steps, s.Title())
	}
	for i, h := range t.Hosts {
		l.hosts[h.Name] = int64(i)
	}
	for _, h := range t.Hosts {
		l.Hosts = append(l.Hosts, l.lane(h))
	}
	for _, p := range t.CriticalPath() {
		i := l.hosts[p.Host]
		if n := len(l.Path); n > 0 && l.Path[n-1][0] == i {
			l.Path[n-1][2] = ms(p.To)
			continue
		}
		l.Path = append(l.Path, [3]int64{i, ms(p.From), ms(p.To)})
	}
	return l
}

func (l *Lanes) lane(h *timeline.Host) Lane {
	lane := Lane{Name: h.Name, Broken: h.Broken(), Spans: make([]int64, 0, 4*len(h.Spans))}
	var end int64
	for i, s := range h.Spans {
		lane.Spans = append(lane.Spans, int64(s.Step), ms(s.From)-end, ms(s.To)-ms(s.From), l.outcomes[s.Outcome])
		end = ms(s.To)
		if s.Delegate != "" {
			if lane.Delegates == nil {
				lane.Delegates = map[int]string{}
			}
			lane.Delegates[i] = s.Delegate
		}
	}
	end = 0
	for _, w := range h.Waits {
		cause, known := l.hosts[w.Cause]
		if !known {
			cause = -1
		}
		lane.Waits = append(lane.Waits, l.reason(w.For), ms(w.From)-end, ms(w.To)-ms(w.From), cause)
		end = ms(w.To)
	}
	return lane
}

// reason returns the index of a reason.
func (l *Lanes) reason(text string) int64 {
	i, known := l.reasons[text]
	if !known {
		i = int64(len(l.Reasons))
		l.reasons[text] = i
		l.Reasons = append(l.Reasons, text)
	}
	return i
}

func ms(d time.Duration) int64 { return d.Milliseconds() }
