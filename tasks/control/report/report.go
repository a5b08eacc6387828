// Package report has the rows of checks of many hosts. The command line prints them as a
// table or JSON, actions put them into errors.
package report

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"text/tabwriter"

	"deployer/engine"
	"deployer/engine/sanitize"
)

// Row is the result of one check on one host. Host is empty for a check of the whole
// cluster.
type Row struct {
	Check  string `json:"check"`
	Host   string `json:"host"`
	OK     bool   `json:"ok"`
	Detail string `json:"detail"`
	Fix    string `json:"fix,omitempty"` // what to do when it is not ok
	// Skipped marks a check that could not be made without that being a problem; OK is true
	// then, and Detail is the reason.
	Skipped bool `json:"skipped,omitempty"`
}

// OK returns a row for a passed check.
func OK(check, host, format string, args ...any) Row {
	return Row{Check: check, Host: host, OK: true, Detail: fmt.Sprintf(format, args...)}
}

// Bad returns a row for a problem.
func Bad(check, host, format string, args ...any) Row {
	return Row{Check: check, Host: host, Detail: fmt.Sprintf(format, args...)}
}

// Skip returns a row for a check that could not be made.
func Skip(check, host, format string, args ...any) Row {
	return Row{Check: check, Host: host, OK: true, Skipped: true, Detail: fmt.Sprintf(format, args...)}
}

// Advised returns the row with advice.
func (r Row) Advised(fix string) Row {
	r.Fix = fix
	return r
}

// Problems returns the rows with a problem.
func Problems(rows []Row) []Row {
	return slices.DeleteFunc(slices.Clone(rows), func(r Row) bool { return r.OK })
}

// Hosts returns the number of different hosts in rows.
func Hosts(rows []Row) int {
	seen := map[string]bool{}
	for _, r := range rows {
		seen[r.Host] = true
	}
	return len(seen)
}

// Sort orders rows by host and check; rows of equal host and check keep their
// order.
func Sort(rows []Row) {
	slices.SortStableFunc(rows, func(a, b Row) int {
		return cmp.Or(cmp.Compare(a.Host, b.Host), cmp.Compare(a.Check, b.Check))
	})
}

// Table writes rows as aligned text: host, check, detail, advice.
func Table(rows []Row) string {
	var b strings.Builder
	w := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	for _, r := range rows {
		text := r.Detail
		if r.Fix != "" && !r.OK {
			text += "; " + r.Fix
		}
		_, _ = fmt.Fprintf(w, "%s\t%s\t%s\n", cmp.Or(r.Host, "cluster"), r.Check, sanitize.Line(text))
	}
	_ = w.Flush()
	return strings.TrimRight(b.String(), "\n")
}

// OfStep returns the rows in the output of a step. Those of a module belong to the host that ran
// it, whatever host they name: a host speaks for itself only.
func OfStep(e engine.Event) []Row {
	switch {
	case e.Type != engine.EventStepEnd || e.Result == nil:
		return nil
	case e.Result.OnController:
		return OfAction(e.Host, e.Result.Output)
	}
	return OfHost(cmp.Or(e.Result.Delegate, e.Host), e.Result.Output)
}

// OfHost parses the rows that a module has returned under "checks" on a host.
func OfHost(host string, out engine.Output) []Row {
	rows := OfAction(host, out)
	for i := range rows {
		rows[i].Host = host
	}
	return rows
}

// OfAction parses the rows that an action has returned under "checks". Rows without a host
// belong to the given one. Texts become one line each, since hosts have told the action.
func OfAction(host string, out engine.Output) []Row {
	list, _ := out["checks"].([]any)
	var rows []Row
	for _, item := range list {
		m, ok := item.(map[string]any)
		if !ok {
			continue
		}
		text := func(key string) string { s, _ := m[key].(string); return sanitize.Line(s) }
		good, _ := m["ok"].(bool)
		skipped, _ := m["skipped"].(bool)
		of := host
		if _, named := m["host"].(string); named {
			of = text("host")
		}
		rows = append(rows, Row{Check: text("check"), Host: of, OK: good, Detail: text("detail"), Fix: text("fix"), Skipped: skipped})
	}
	return rows
}

// Output returns rows as an action's output: all under "checks", problems under
// "problems" too.
func Output(rows []Row) engine.Output {
	checks, problems := []any{}, []any{}
	for _, r := range rows {
		m := map[string]any{"check": r.Check, "host": r.Host, "ok": r.OK, "detail": r.Detail, "fix": r.Fix, "skipped": r.Skipped}
		checks = append(checks, m)
		if !r.OK {
			problems = append(problems, m)
		}
	}
	return engine.Output{"checks": checks, "problems": problems}
}
