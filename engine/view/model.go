package view

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"deployer/engine"
	"deployer/engine/sanitize"
)

// model is the state of a run as far as events show it.
type model struct {
	play  string // the last play that a host entered
	hosts map[string]*hostState
	order []string
	sent  int64 // bytes of blobs sent to hosts
	done  bool
}

type hostState struct {
	name    string
	step    string // its current step; empty between two steps
	text    string // progress of that step
	since   time.Time
	waits   string // what the host waits for; else empty
	stepID  string // of step
	parked  bool
	blobs   map[string]int64 // bytes sent, by blob
	ok      int
	changed int
	failed  int
	skipped int
}

func newModel(hosts []string) *model {
	m := &model{hosts: map[string]*hostState{}}
	for _, h := range hosts {
		m.host(h).step = "connecting"
	}
	return m
}

func (m *model) host(name string) *hostState {
	h := m.hosts[name]
	if h == nil {
		h = &hostState{name: name, blobs: map[string]int64{}}
		m.hosts[name] = h
		m.order = append(m.order, name)
	}
	return h
}

func (m *model) apply(e engine.Event) {
	switch e.Type {
	case engine.EventPlayStart:
		m.play = e.Name
	case engine.EventRunEnd:
		m.done = true
	}
	if e.Host == "" {
		return
	}
	h := m.host(e.Host)
	switch e.Type {
	case engine.EventHostUp:
		h.set("", "", e.Time)
	case engine.EventHostRetry:
		h.set("connecting", BesideHost(e.Host, sanitize.FirstLine(e.Text, 0)), e.Time)
	case engine.EventHostParked:
		h.parked = true
	case engine.EventStepStart:
		h.set(label(e.Role, e.Name), "", e.Time)
		h.stepID = e.Step
	case engine.EventStepText:
		h.text = sanitize.FirstLine(e.Text, 0)
	case engine.EventWait:
		h.waits, h.since = sanitize.FirstLine(e.Text, 0), e.Time
	case engine.EventTransfer:
		m.sent += h.transfer(e)
	case engine.EventStepEnd:
		h.count(e.Result)
		m.leave(e)
		if h.stepID == e.Step { // otherwise the next step has begun already
			h.set("", "", e.Time)
		}
	}
}

// leave ends a step that another host executed for this one.
func (m *model) leave(e engine.Event) {
	if e.Result == nil || e.Result.Delegate == "" {
		return
	}
	if d := m.host(e.Result.Delegate); strings.HasPrefix(d.stepID, e.Step+"/") {
		d.set("", "", e.Time)
	}
}

func (h *hostState) set(step, text string, since time.Time) {
	h.step, h.text, h.waits, h.since = step, text, "", since
}

// transfer records how much of a blob was sent, and returns the bytes since the last
// event.
func (h *hostState) transfer(e engine.Event) int64 {
	more := e.Bytes - h.blobs[e.Name]
	if more < 0 { // after a lost connection the blob is sent again
		more = e.Bytes
	}
	h.blobs[e.Name] = e.Bytes
	h.text = fmt.Sprintf("sending, %s", megabytes(e.Bytes))
	if e.Total > 0 {
		h.text = fmt.Sprintf("sending, %s of %s", megabytes(e.Bytes), megabytes(e.Total))
	}
	if e.Bytes == e.Total {
		h.text = ""
	}
	return more
}

func megabytes(n int64) string { return fmt.Sprintf("%.1f MB", float64(n)/1e6) }

func (h *hostState) count(r *engine.Result) {
	if r == nil {
		return
	}
	switch {
	case r.Status == engine.StatusOK, r.Ignored:
		h.ok++
	case r.Status == engine.StatusChanged:
		h.changed++
	case r.Status == engine.StatusSkipped:
		h.skipped++
	case r.Status == engine.StatusFailed, r.Status == engine.StatusUnreachable:
		h.failed++
	}
}

func (h *hostState) steps() int { return h.ok + h.changed + h.skipped + h.failed }

// busy lists the hosts that are in a step or wait, those with the fewest steps
// first: the run waits for them.
func (m *model) busy() []*hostState {
	var out []*hostState
	for _, name := range m.order {
		if h := m.hosts[name]; !h.parked && (h.step != "" || h.waits != "") {
			out = append(out, h)
		}
	}
	slices.SortStableFunc(out, func(a, b *hostState) int { return cmp.Compare(a.steps(), b.steps()) })
	return out
}

func (m *model) totals() (ok, changed, failed, parked int) {
	for _, h := range m.hosts {
		ok += h.ok
		changed += h.changed
		failed += h.failed
		if h.parked {
			parked++
		}
	}
	return ok, changed, failed, parked
}

// doing returns the host's activity in one line, with its duration from one second
// on.
func (h *hostState) doing(now time.Time) string {
	what := h.step
	switch {
	case h.waits != "":
		what = "waits: " + h.waits
	case h.text != "":
		what += ": " + h.text
	}
	if age := now.Sub(h.since); !h.since.IsZero() && age >= time.Second {
		what += " (" + clock(age) + ")"
	}
	return what
}

func label(role, name string) string {
	if role == "" {
		return name
	}
	return role + ": " + name
}
