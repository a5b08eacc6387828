package view

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"deployer/engine"
	"deployer/engine/sanitize"
)

// describer turns events into lines, for Lines and Live.
type describer struct {
	opt   Options
	width int // width of the column of hosts
	// shownOnce has the causes that were shown, without host names: when a run ends
	// early or a rack is down, hundreds of hosts are retried and parked for one
	// reason, and the summary names them all.
	shownOnce map[string]bool
}

// below is the prefix of lines that belong to the line above: a little wider than
// the time.
const below = "            "

// Limits of the width of the column of hosts, which is that of the longest name.
const (
	narrowest = 8
	widest    = 24
)

func newDescriber(opt Options) *describer {
	t := &describer{opt: opt, width: narrowest, shownOnce: map[string]bool{}}
	for _, h := range opt.Hosts {
		t.width = min(widest, max(t.width, len(h)))
	}
	return t
}

// line returns host, word and text in columns.
func (t *describer) line(host, word, text string) string {
	return fmt.Sprintf("%-*s  %-7s  %s", t.width, host, word, text)
}

// describe returns the text of an event, empty for none.
func (t *describer) describe(e engine.Event) string {
	switch e.Type {
	case engine.EventRunStart:
		return fmt.Sprintf("%s, %s, run %s", t.verb(e.Name), count(len(t.opt.Hosts), "host"), e.Text)
	case engine.EventPlayStart:
		if e.Text != "" {
			return fmt.Sprintf("== %s (%s)", e.Name, e.Text)
		}
		return "== " + e.Name
	case engine.EventHostParked:
		return t.once(e, "PARKED", "left out from here on: ")
	case engine.EventHostRetry:
		return t.once(e, "retry", "")
	case engine.EventHostUp:
		if t.opt.Verbose >= 2 {
			return t.line(e.Host, "up", sanitize.Line(e.Text))
		}
	case engine.EventWarning:
		return "warning: " + hanging(strings.TrimSpace(e.Host+" "+e.Text))
	case engine.EventDistributed:
		return "distribution: " + hanging(e.Text)
	case engine.EventReceived:
		if t.opt.Verbose >= 1 {
			return t.line(e.Host, "got", fmt.Sprintf("blob %.12s %s", e.Name, sanitize.Line(e.Text)))
		}
	case engine.EventInterrupted:
		return hanging(e.Text)
	case engine.EventWait:
		if t.opt.Verbose >= 2 && e.Text != "" {
			return t.line(e.Host, "waits", sanitize.Line(e.Text))
		}
	case engine.EventStepEnd:
		return t.describeResult(e)
	}
	return ""
}

func (t *describer) verb(name string) string {
	if t.opt.Check {
		return name + " (check only)"
	}
	return name
}

// progress returns the text for the steps of all hosts.
func (t *describer) progress(m *model) string {
	ok, changed, _, _ := m.totals()
	word := "changed"
	if t.opt.Check {
		word = "differ"
	}
	return fmt.Sprintf("%s done, %d %s", count(ok+changed, "step"), changed, word)
}

// once returns the line for a host's retry or loss, empty if another host had the
// same cause.
func (t *describer) once(e engine.Event, word, before string) string {
	text := sanitize.FirstLine(e.Text, 0)
	key, same := word+NormalizeHosts(e.Host, text), word+"\n"+text
	if (t.shownOnce[key] || t.shownOnce[same]) && t.opt.Verbose < 2 {
		return ""
	}
	t.shownOnce[key], t.shownOnce[same] = true, true
	return t.line(e.Host, word, before+BesideHost(e.Host, text))
}

func (t *describer) describeResult(e engine.Event) string {
	r := e.Result
	if r == nil || !t.shown(r) {
		return ""
	}
	line := t.line(e.Host, t.word(r), label(e.Role, e.Name)) + remarks(r)
	if r.Failure != nil {
		line += "\n" + indent(r.Failure.Message, below)
		if r.Failure.Detail != "" {
			line += "\n" + indent(strings.TrimRight(r.Failure.Detail, "\n"), below+"| ")
		}
	}
	if r.Change == nil {
		return line
	}
	for _, effect := range r.Change.Effects {
		switch {
		case effect.Kind == engine.EffectShow:
			line += "\n" + indent(strings.TrimRight(effect.Diff, "\n"), below)
		case t.opt.Diff || t.opt.Verbose >= 1:
			line += "\n" + describeEffect(effect)
		}
	}
	return line
}

// remarks returns the text in parentheses after a step.
func remarks(r *engine.Result) string {
	var out []string
	if r.RunOnce {
		out = append(out, "run once")
	}
	if r.Delegate != "" {
		out = append(out, "on "+r.Delegate)
	}
	for _, why := range []string{r.Reason, r.Unknown} {
		if why != "" {
			out = append(out, sanitize.FirstLine(why, 0))
		}
	}
	if r.Tries > 1 {
		out = append(out, fmt.Sprintf("%d tries", r.Tries))
	}
	if r.Elapsed >= 100*time.Millisecond {
		out = append(out, clock(r.Elapsed))
	}
	if len(out) == 0 {
		return ""
	}
	return "  (" + strings.Join(out, ", ") + ")"
}

func (t *describer) shown(r *engine.Result) bool {
	switch r.Status {
	case engine.StatusOK:
		return t.opt.Verbose >= 1 || r.Ignored || shows(r)
	case engine.StatusSkipped:
		return t.opt.Verbose >= 2 || r.Unknown != ""
	case engine.StatusCancelled:
		return t.opt.Verbose >= 2
	}
	return true
}

// shows reports whether a step has output to show.
func shows(r *engine.Result) bool {
	return r.Change != nil && slices.ContainsFunc(r.Change.Effects, func(e engine.Effect) bool { return e.Kind == engine.EffectShow })
}

func (t *describer) word(r *engine.Result) string {
	switch {
	case r.Ignored:
		return "ignored"
	case r.Unknown != "":
		return "unknown"
	case r.Status == engine.StatusFailed:
		return "FAILED"
	case r.Status == engine.StatusUnreachable:
		return "LOST"
	case r.Status == engine.StatusCancelled:
		return "stopped"
	case r.Status == engine.StatusChanged && t.opt.Check:
		return "differs"
	}
	return string(r.Status)
}

func describeEffect(e engine.Effect) string {
	text := fmt.Sprintf(below+"%s %s: %s", sanitize.Line(string(e.Kind)), sanitize.Line(e.Target), sanitize.Line(e.Phrase()))
	if e.Secret {
		return text + " (secret content is not shown)"
	}
	if e.Diff != "" {
		text += "\n" + indent(strings.TrimRight(e.Diff, "\n"), below)
	}
	return text
}

// hanging indents the lines of a text but the first: a text of a host begins no line of its
// own.
func hanging(s string) string { return strings.ReplaceAll(s, "\n", "\n"+below) }

func indent(s, by string) string {
	return by + strings.ReplaceAll(s, "\n", "\n"+by)
}

// clock formats a duration: 0.3s, 12.4s, 3m07s, 1h02m.
func clock(d time.Duration) string {
	switch {
	case d < time.Minute:
		return fmt.Sprintf("%.1fs", d.Seconds())
	case d < time.Hour:
		return fmt.Sprintf("%dm%02ds", int(d.Minutes()), int(d.Seconds())%60)
	}
	return fmt.Sprintf("%dh%02dm", int(d.Hours()), int(d.Minutes())%60)
}
