package main

import (
	"fmt"
	"io"
	"strings"
	"sync"

	"deployer/engine"
	"deployer/inventory"
)

// execResult is the result of exec on one host.
type execResult struct {
	Host    string        `json:"host"`
	Status  engine.Status `json:"status"`
	RC      *int          `json:"rc,omitempty"` // exit code of the command
	Stdout  string        `json:"stdout,omitempty"`
	Stderr  string        `json:"stderr,omitempty"`
	Message string        `json:"message,omitempty"` // error of a failed host
	Output  engine.Output `json:"output,omitempty"`  // output of a module other than a command
	Effects []string      `json:"effects,omitempty"`
}

// execResults collects the results of all hosts. execResults is safe for concurrent use.
type execResults struct {
	mu     sync.Mutex
	byHost map[string]execResult
}

// Emit implements engine.Sink.
func (a *execResults) Emit(e engine.Event) {
	if e.Type != engine.EventStepEnd || e.Result == nil {
		return
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.byHost == nil {
		a.byHost = map[string]execResult{}
	}
	a.byHost[e.Host] = newExecResult(e.Host, e.Result)
}

func newExecResult(host string, r *engine.Result) execResult {
	out := execResult{Host: host, Status: r.Status}
	if r.Failure != nil {
		out.Message = r.Failure.Message
	}
	if r.Change != nil {
		for _, effect := range r.Change.Effects {
			if effect.Kind != engine.EffectCommand {
				out.Effects = append(out.Effects, strings.TrimSpace(fmt.Sprintf("%s %s: %s\n%s", effect.Kind, effect.Target, effect.Phrase(), effect.Diff)))
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

// inOrder returns the results in the order of the report. A host without a result has
// the failure of its connection.
func (a *execResults) inOrder(report *engine.Report) []execResult {
	a.mu.Lock()
	defer a.mu.Unlock()
	out := make([]execResult, 0, len(report.Hosts))
	for _, h := range report.Hosts {
		result, ok := a.byHost[h.Host]
		if !ok {
			result = execResult{Host: h.Host, Status: engine.StatusCancelled}
			if h.Failure != nil {
				result.Status, result.Message = engine.StatusUnreachable, h.Failure.Message
			}
		}
		out = append(out, result)
	}
	return out
}

// printExecResults prints each distinct result once, under the names of its hosts.
func printExecResults(w io.Writer, all []execResult) error {
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

// text formats a result without its host; it follows the names of the hosts.
func (a execResult) text() string {
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
