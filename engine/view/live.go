package view

import (
	"fmt"
	"io"
	"sync"
	"time"

	"github.com/vbauerster/mpb/v8"
	"github.com/vbauerster/mpb/v8/decor"

	"deployer/engine"
)

// liveRows is the number of hosts that the terminal shows, the slowest first.
const liveRows = 10

// Live draws on a terminal: changes and failures scroll by; below them are the state
// of the run and the hosts that the run waits for.
func Live(w io.Writer, opt Options) Renderer {
	l := newLive(opt, time.Now)
	l.progress = mpb.New(mpb.WithOutput(w), mpb.WithRefreshRate(150*time.Millisecond), mpb.WithAutoRefresh())
	rows := min(liveRows, max(1, len(opt.Hosts)))
	l.bars = append(l.bars, l.row(l.headline))
	for i := range rows {
		l.bars = append(l.bars, l.row(func() string { return l.hostLine(i) }))
	}
	return l
}

func newLive(opt Options, now func() time.Time) *live {
	return &live{describer: newDescriber(opt), model: newModel(opt.Hosts), now: now, start: now()}
}

type live struct {
	mu        sync.Mutex
	describer *describer
	model     *model
	now       func() time.Time
	start     time.Time
	progress  *mpb.Progress
	bars      []*mpb.Bar
}

// row adds a line of text that is redrawn at each refresh.
func (l *live) row(text func() string) *mpb.Bar {
	return l.progress.New(1, mpb.NopStyle(), mpb.BarRemoveOnComplete(), mpb.PrependDecorators(
		decor.Any(func(decor.Statistics) string { return text() }),
	))
}

func (l *live) Emit(e engine.Event) {
	// The line is written without the lock, which the drawing goroutine takes for the
	// rows.
	if text := l.take(e); text != "" {
		fmt.Fprintf(l.progress, "%6s  %s\n", clock(l.now().Sub(l.start)), text)
	}
}

func (l *live) take(e engine.Event) string {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.model.apply(e)
	return l.describer.describe(e)
}

func (l *live) Close() {
	for _, b := range l.bars {
		b.Abort(true)
	}
	l.progress.Wait()
}

// headline returns the state of the whole run.
func (l *live) headline() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	_, _, failed, parked := l.model.totals()
	text := fmt.Sprintf("%6s  %s", clock(l.now().Sub(l.start)), l.describer.progress(l.model))
	if l.model.sent > 0 {
		text += ", " + megabytes(l.model.sent) + " sent"
	}
	if failed > 0 {
		text += fmt.Sprintf(", %d FAILED", failed)
	}
	if parked > 0 {
		text += fmt.Sprintf(", %s parked", count(parked, "host"))
	}
	return text + fmt.Sprintf("; %d of %s active", len(l.model.busy()), count(len(l.model.order), "host"))
}

// hostLine returns the line of the i-th slowest active host; empty when there are
// fewer.
func (l *live) hostLine(i int) string {
	l.mu.Lock()
	defer l.mu.Unlock()
	busy := l.model.busy()
	if i >= len(busy) {
		return ""
	}
	h := busy[i]
	return fmt.Sprintf("        %-*s  %3d  %s", l.describer.width, h.name, h.steps(), shorten(h.doing(l.now()), 80))
}

// shorten cuts a text to `most` characters, so that it fits one line of the
// terminal.
func shorten(s string, most int) string {
	if r := []rune(s); len(r) > most {
		return string(r[:most-1]) + "…"
	}
	return s
}
