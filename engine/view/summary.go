package view

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"deployer/engine"
)

// Summary prints how a run ended: which hosts failed and why, what changed, and
// the command that goes on. again is that command; verb names the run.
func Summary(w io.Writer, verb string, r *engine.Report, again string) {
	fmt.Fprintln(w)
	summarizeFailures(w, r.Broken())
	summarizeCancelled(w, r)
	for _, text := range r.Left {
		fmt.Fprintf(w, "LEFT  %s\n", text)
	}
	fmt.Fprintf(w, "%s %s in %s: %s\n", verb, outcome(r), clock(r.Elapsed), figures(r))
	if why := shortReason(r); why != "" {
		fmt.Fprintf(w, "why: %s\n", why)
	}
	fmt.Fprint(w, advice(r, again))
}

func outcome(r *engine.Report) string {
	if o := r.Outcome(); o != engine.RunDone || !r.Check {
		return string(o)
	}
	return "checked"
}

func figures(r *engine.Report) string {
	ok, skipped := 0, 0
	for _, h := range r.Hosts {
		ok += h.OK
		skipped += h.Skipped
	}
	word := "changed"
	if r.Check {
		word = "would change"
	}
	text := fmt.Sprintf("%s, %d %s, %d ok, %d skipped", count(len(r.Hosts), "host"), r.Changed(), word, ok, skipped)
	forAll := 0
	for _, h := range r.Broken() {
		if h.ForAll {
			forAll++
		}
	}
	if n := len(r.Broken()) - forAll; n > 0 {
		text += fmt.Sprintf(", %s failed", count(n, "host"))
	}
	if forAll > 0 {
		text += fmt.Sprintf(", %s for all hosts failed", count(forAll, "step"))
	}
	return text
}

// shortReason is why the run ended early, without the failure that stands
// above it already.
func shortReason(r *engine.Report) string {
	for _, h := range r.Broken() {
		if before, _, ok := strings.Cut(r.Aborted, firstLine(h.Failure.Message)); ok && before != "" {
			return strings.TrimRight(before, ": ") + ", see above"
		}
	}
	return r.Aborted
}

// advice is what the outcome means and what to do next.
func advice(r *engine.Report, again string) string {
	complete := !r.Interrupted && r.Aborted == "" && len(r.Broken()) == 0
	untouched := r.Check || r.Changed() == 0
	switch {
	case complete && r.Changed() == 0:
		return "everything is as it should be; nothing was changed or restarted\n"
	case complete && r.Check:
		return "nothing was changed: this was only a check\n"
	case complete || again == "":
		return ""
	case r.Outcome() == engine.RunRestored:
		return fmt.Sprintf("what failed is as it was before; when the cause is mended:\n  %s\n", again)
	case untouched && !r.Interrupted:
		return fmt.Sprintf("nothing was changed; when that is mended:\n  %s\n", again)
	}
	return fmt.Sprintf("what is done stays done; to go on:\n  %s\n", again)
}

// summarizeFailures prints each root cause once, with all hosts that have it. Of
// causes that differ in nothing but the host the first stands for all.
func summarizeFailures(w io.Writer, broken []engine.HostReport) {
	type cause struct {
		hosts []string
		first engine.HostReport
		like  engine.Failure
		alike bool // they are not the same
	}
	var causes []*cause
	for _, h := range broken {
		like := *h.Failure
		like.Message = NormalizeHosts(h.Host, like.Message)
		i := slices.IndexFunc(causes, func(c *cause) bool {
			return c.first.FailedStep == h.FailedStep && c.first.ForAll == h.ForAll && c.first.Unreachable == h.Unreachable && c.like == like && restoredAlike(c.first.Restored, h.Restored)
		})
		if i < 0 {
			causes = append(causes, &cause{first: h, like: like})
			i = len(causes) - 1
		}
		causes[i].hosts = append(causes[i].hosts, h.Host)
		causes[i].alike = causes[i].alike || *causes[i].first.Failure != *h.Failure
	}
	for _, c := range causes {
		word := "FAILED"
		if c.first.Unreachable {
			word = "UNREACHABLE"
		}
		switch step := c.first.FailedStep; {
		case c.first.ForAll:
			fmt.Fprintf(w, "%s  %q  (run once, on %s)", word, step, wrapNames(c.hosts))
		case step != "":
			fmt.Fprintf(w, "%s  %s  at %q", word, wrapNames(c.hosts), step)
		default:
			fmt.Fprintf(w, "%s  %s", word, wrapNames(c.hosts))
		}
		text := c.first.Failure.Message
		if c.alike {
			text += "\n(and the others likewise)"
		} else if len(c.hosts) == 1 {
			text = BesideHost(c.hosts[0], text)
		}
		fmt.Fprintf(w, "\n%s\n", indent(text, "    "))
		if c.first.Failure.Detail != "" {
			fmt.Fprintln(w, indent(strings.TrimRight(c.first.Failure.Detail, "\n"), "    | "))
		}
		if c.first.Restored != nil {
			fmt.Fprintf(w, "    %s\n", c.first.Restored)
		}
	}
}

// restoredAlike reports whether the same became of two hosts after they failed.
func restoredAlike(a, b *engine.Restored) bool {
	return a == b || a != nil && b != nil && *a == *b
}

// nameColumns is how wide a list of hosts may get before it goes on below.
const nameColumns = 88

// wrapNames lists hosts, all of them: who repairs them needs every name.
func wrapNames(names []string) string {
	var b strings.Builder
	column := 0
	for i, name := range names {
		switch {
		case i == 0:
		case column+len(name) > nameColumns:
			b.WriteString(",\n        ")
			column = 0
		default:
			b.WriteString(", ")
		}
		b.WriteString(name)
		column += len(name) + 2
	}
	return b.String()
}

func summarizeCancelled(w io.Writer, r *engine.Report) {
	var names []string
	for _, h := range r.Hosts {
		if h.Cancelled && h.Failure == nil || h.ForAll {
			names = append(names, h.Host)
		}
	}
	if len(names) == 0 {
		return
	}
	shown := names[:min(8, len(names))]
	because := " because of that"
	if r.Interrupted {
		because = ""
	}
	fmt.Fprintf(w, "not finished%s: %s", because, strings.Join(shown, ", "))
	if more := len(names) - len(shown); more > 0 {
		fmt.Fprintf(w, " and %d more", more)
	}
	fmt.Fprintln(w)
}

func count(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}
