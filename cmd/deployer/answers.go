package main

import (
	"fmt"
	"io"
	"strings"
	"sync"

	"deployer/engine"
	"deployer/inventory"
)

// answer is what one host said to exec.
type answer struct {
	Host    string        `json:"host"`
	Status  engine.Status `json:"status"`
	RC      *int          `json:"rc,omitempty"` // exit code of the command
	Stdout  string        `json:"stdout,omitempty"`
	Stderr  string        `json:"stderr,omitempty"`
	Message string        `json:"message,omitempty"` // why it failed
	Output  engine.Output `json:"output,omitempty"`  // of a module that is no command
	Effects []string      `json:"effects,omitempty"`
}

// answers gathers what hosts said. It is safe for concurrent use.
type answers struct {
	mu   sync.Mutex
	said map[string]answer
}

// Emit implements engine.Sink.
func (a *answers) Emit(e engine.Event) {
	if e.Type != engine.EventStepEnd || e.Result == nil {
		return
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.said == nil {
		a.said = map[string]answer{}
	}
	a.said[e.Host] = answerOf(e.Host, e.Result)
}

func answerOf(host string, r *engine.Result) answer {
	out := answer{Host: host, Status: r.Status}
	if r.Failure != nil {
		out.Message = r.Failure.Message
	}
	if r.Change != nil {
		for _, effect := range r.Change.Effects {
			if effect.Kind != engine.EffectCommand {
				out.Effects = append(out.Effects, strings.TrimSpace(fmt.Sprintf("%s %s: %s\n%s", effect.Kind, effect.Target, effect.Action, effect.Diff)))
			}
		}
	}
	switch rc := r.Output["rc"].(type) {
	case float64:
		n := int(rc)
		out.RC = &n
	case int:
		out.RC = &rc
	default:
		out.Output = r.Output
		return out
	}
	out.Stdout, _ = r.Output["stdout"].(string)
	out.Stderr, _ = r.Output["stderr"].(string)
	return out
}

// of are the answers in the order of the report; a host that was never asked
// says why.
func (a *answers) of(report *engine.Report) []answer {
	a.mu.Lock()
	defer a.mu.Unlock()
	out := make([]answer, 0, len(report.Hosts))
	for _, h := range report.Hosts {
		said, ok := a.said[h.Host]
		if !ok {
			said = answer{Host: h.Host, Status: engine.StatusCancelled}
			if h.Failure != nil {
				said.Status, said.Message = engine.StatusUnreachable, h.Failure.Message
			}
		}
		out = append(out, said)
	}
	return out
}

// printAnswers prints each different answer once, under the hosts that gave it.
func printAnswers(w io.Writer, all []answer) error {
	var order []string
	hosts := map[string][]string{}
	for _, a := range all {
		text := a.text()
		if hosts[text] == nil {
			order = append(order, text)
		}
		hosts[text] = append(hosts[text], a.Host)
	}
	for _, text := range order {
		if _, err := fmt.Fprintf(w, "== %s (%d)%s", inventory.CompressText(hosts[text]), len(hosts[text]), text); err != nil {
			return err
		}
	}
	return nil
}

// text is all of an answer but the host; it begins behind the names.
func (a answer) text() string {
	var b strings.Builder
	switch {
	case a.RC != nil && *a.RC != 0:
		fmt.Fprintf(&b, "  %s, exit code %d", a.Status, *a.RC)
	case a.Status != engine.StatusOK && a.RC == nil:
		fmt.Fprintf(&b, "  %s", a.Status)
	}
	b.WriteString("\n")
	parts := []string{a.Stdout, a.Stderr}
	if a.RC == nil {
		parts = append(a.Effects, a.Message, outputText(a.Output))
	}
	for _, part := range parts {
		if part != "" {
			b.WriteString(strings.TrimRight(part, "\n") + "\n")
		}
	}
	return b.String()
}

func outputText(o engine.Output) string {
	if len(o) == 0 {
		return ""
	}
	var b strings.Builder
	if err := printJSON(&b, o); err != nil {
		return err.Error()
	}
	return b.String()
}

func allUnreachable(r *engine.Report) bool {
	for _, h := range r.Hosts {
		if !h.Unreachable {
			return false
		}
	}
	return true
}
