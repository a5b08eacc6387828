package view

import (
	"fmt"
	"io"
	"sync"
	"time"

	"deployer/engine"
	"deployer/shortlist"
)

// quietFor is the time without output after which Lines shows progress: short enough
// that nobody thinks the run hangs, long enough for a CI log.
const quietFor = 10 * time.Second

// quietHosts is the number of hosts that a progress line names.
const quietHosts = 3

// Lines writes plain lines: one for each change, failure and parked host, and a
// progress line whenever nothing was written for ten seconds.
func Lines(w io.Writer, opt Options) Renderer {
	l := newLines(w, opt, time.Now)
	l.ticker.Add(1)
	go l.heartbeat()
	return l
}

// Replay is Lines for the events of a past run, with the times of the events.
func Replay(w io.Writer, opt Options) Renderer {
	r := &replay{}
	r.lines = newLines(w, opt, func() time.Time { return r.at })
	return r
}

// replay is a Lines whose clock shows the time of the last event.
type replay struct {
	lines *lines
	at    time.Time
	begun bool
}

func (r *replay) Emit(e engine.Event) {
	r.at = e.Time
	if !r.begun {
		r.begun, r.lines.start = true, e.Time
	}
	r.lines.Emit(e)
}

func (r *replay) Close() {}

func newLines(w io.Writer, opt Options, now func() time.Time) *lines {
	return &lines{w: w, describer: newDescriber(opt), model: newModel(opt.Hosts), now: now, start: now(), last: now(), stop: make(chan struct{})}
}

type lines struct {
	mu        sync.Mutex
	w         io.Writer
	describer *describer
	model     *model
	now       func() time.Time
	start     time.Time
	last      time.Time // time of the last line
	stop      chan struct{}
	once      sync.Once
	ticker    sync.WaitGroup
}

func (l *lines) Emit(e engine.Event) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.model.apply(e)
	if text := l.describer.describe(e); text != "" {
		l.print(text)
	}
}

func (l *lines) Close() {
	l.once.Do(func() { close(l.stop) })
	l.ticker.Wait()
}

func (l *lines) print(text string) {
	l.last = l.now()
	fmt.Fprintf(l.w, "%6s  %s\n", clock(l.last.Sub(l.start)), text)
}

func (l *lines) heartbeat() {
	defer l.ticker.Done()
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	for {
		select {
		case <-l.stop:
			return
		case <-tick.C:
			l.showProgressIfIdle()
		}
	}
}

func (l *lines) showProgressIfIdle() {
	l.mu.Lock()
	defer l.mu.Unlock()
	now := l.now()
	if l.model.done || now.Sub(l.last) < quietFor {
		return
	}
	text := "... " + l.describer.progress(l.model)
	var hosts []string
	for _, h := range l.model.busy() {
		hosts = append(hosts, h.name+" "+h.doing(now))
	}
	if len(hosts) > 0 {
		text += "; " + shortlist.Texts(hosts, quietHosts)
	}
	l.print(text)
}
