package view

import (
	"fmt"
	"io"
	"strings"

	"deployer/engine"
	"deployer/engine/sanitize"
	"deployer/shortlist"
)

// Summary prints how a run ended: which hosts failed and why, what changed, and the
// command that continues it. again is that command; verb is the verb of the run, such as
// install.
func Summary(w io.Writer, verb string, r *engine.Report, again string) {
	fmt.Fprintln(w)
	summarizeFailures(w, r.Broken())
	summarizeCancelled(w, r)
	summarizeStays(w, r)
	for _, text := range r.LeftOpen {
		fmt.Fprintf(w, "LEFT  %s\n", sanitize.Line(text))
	}
	fmt.Fprintf(w, "%s %s in %s: %s\n", verb, outcome(r), clock(r.Elapsed), figures(r))
	if why := shortReason(r); why != "" {
		fmt.Fprintf(w, "reason: %s\n", hanging(why))
	}
	fmt.Fprint(w, advice(r, again))
}

func outcome(r *engine.Report) string {
	switch o := r.Outcome(); {
	case o == engine.OutcomeDone && r.Check:
		return "checked"
	case o == engine.OutcomeRestored && (restoredHosts(r) == 0 || len(r.Stays) > 0):
		return string(engine.OutcomeAborted)
	default:
		return string(o)
	}
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
	alone, forAll := 0, map[string]bool{}
	for _, h := range r.Broken() {
		if h.RunOnce {
			forAll[h.FailedStep] = true
		} else {
			alone++
		}
	}
	if alone > 0 {
		text += fmt.Sprintf(", %s failed", count(alone, "host"))
	}
	if len(forAll) > 0 {
		text += fmt.Sprintf(", %s for all hosts failed", count(len(forAll), "step"))
	}
	return text
}

// shortReason returns why the run ended early, without the failure that is printed
// above.
func shortReason(r *engine.Report) string {
	aborted := sanitize.CutEnd(r.Aborted, maxReason)
	for _, h := range r.Broken() {
		if before, _, ok := strings.Cut(aborted, sanitize.FirstLine(h.Failure.Message, 0)); ok && before != "" {
			return strings.TrimRight(before, ": ") + ", see above"
		}
	}
	return aborted
}

// maxReason is the maximum size of the shown reason in bytes: a record of a host may have more.
const maxReason = 32 << 10

// advice returns the consequence of the outcome and the next command.
func advice(r *engine.Report, again string) string {
	complete := !r.Interrupted && r.Aborted == "" && len(r.Broken()) == 0
	untouched := r.Check || r.Changed() == 0
	switch {
	case complete && r.Changed() == 0:
		return "no differences found; nothing was changed or restarted\n"
	case complete && r.Check:
		return "nothing was changed: this was a dry run\n"
	case complete || again == "":
		return ""
	case r.Outcome() == engine.OutcomeRestored:
		return fmt.Sprintf("%s; after fixing the cause, run:\n  %s\n", restoration(r), again)
	case untouched && !r.Interrupted:
		return fmt.Sprintf("nothing was changed; after fixing the cause, run:\n  %s\n", again)
	}
	return fmt.Sprintf("completed steps stay; to continue, run:\n  %s\n", again)
}

// restoration returns the state of the failed hosts of a run that ended with
// OutcomeRestored: restored, or never changed. The failures above it name the hosts.
func restoration(r *engine.Report) string {
	restored := restoredHosts(r)
	switch others := len(r.Broken()) - restored; {
	case others == 0 && len(r.Stays) > 0:
		return "the failed hosts have back what the rollout had changed, and the changes named above stay"
	case others == 0:
		return "the failed hosts were restored"
	case restored == 0:
		return "no change had begun on the failed hosts"
	default:
		return fmt.Sprintf("failed and restored: %s; failed before their change had begun: %s", count(restored, "host"), count(others, "host"))
	}
}

// restoredHosts returns the number of failed hosts on which something was restored.
func restoredHosts(r *engine.Report) int {
	n := 0
	for _, h := range r.Broken() {
		if h.Restored != nil && h.Restored.Steps > 0 {
			n++
		}
	}
	return n
}

// cause is a root cause with all hosts that have it.
type cause struct {
	hosts []string
	first engine.HostReport
	alike bool // some texts differ from the first
}

// causeKey is equal for failures that differ only in the host.
type causeKey struct {
	step                 string
	runOnce, unreachable bool
	failure              engine.Failure
	isRestored           bool
	restored             engine.RestoreResult
}

func newCauseKey(h engine.HostReport) causeKey {
	key := causeKey{step: h.FailedStep, runOnce: h.RunOnce, unreachable: h.Unreachable, failure: *h.Failure}
	if !h.RunOnce { // its text is the same for all hosts, and names some of them
		key.failure.Message = NormalizeHosts(h.Host, h.Failure.Message)
	}
	if h.Restored != nil {
		key.isRestored, key.restored = true, *h.Restored
	}
	return key
}

// causesOf groups failed hosts by their root cause, in the order of the first host of each.
func causesOf(broken []engine.HostReport) []*cause {
	var causes []*cause
	byKey := map[causeKey]*cause{}
	for _, h := range broken {
		key := newCauseKey(h)
		c := byKey[key]
		if c == nil {
			c = &cause{first: h}
			byKey[key], causes = c, append(causes, c)
		}
		c.hosts = append(c.hosts, h.Host)
		c.alike = c.alike || *c.first.Failure != *h.Failure
	}
	return causes
}

// summarizeFailures prints each root cause once, with all hosts that have it. Causes
// that differ only in the host are one, and the first one's text is printed.
func summarizeFailures(w io.Writer, broken []engine.HostReport) {
	for _, c := range causesOf(broken) {
		word := "FAILED"
		if c.first.Unreachable {
			word = "UNREACHABLE"
		}
		switch step := c.first.FailedStep; {
		case c.first.RunOnce && len(c.hosts) > 1:
			fmt.Fprintf(w, "%s  %q  (run once for %d hosts)", word, step, len(c.hosts))
		case c.first.RunOnce:
			fmt.Fprintf(w, "%s  %q  (run once, on %s)", word, step, wrapNames(c.hosts))
		case step != "":
			fmt.Fprintf(w, "%s  %s  at %q", word, wrapNames(c.hosts), step)
		default:
			fmt.Fprintf(w, "%s  %s", word, wrapNames(c.hosts))
		}
		text := c.first.Failure.Message
		if c.alike {
			text += "\n(the other hosts have similar errors)"
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

// nameColumns is the width at which a list of hosts continues on the next line.
const nameColumns = 88

// wrapNames lists all hosts: to repair them, every name is needed.
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
		if h.Cancelled && h.Failure == nil || h.RunOnce {
			names = append(names, h.Host)
		}
	}
	if len(names) == 0 {
		return
	}
	because := " because of that"
	if r.Interrupted {
		because = ""
	}
	fmt.Fprintf(w, "not finished%s: %s\n", because, shortlist.Names(names, 8))
}

func count(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}
