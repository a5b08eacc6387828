// Package report has the rows that checks of many hosts are shown in: by the
// command line as a table or as JSON, by actions in an error.
package report

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"text/tabwriter"

	"deployer/engine"
)

// Row is the outcome of one check on one host. Host is empty when the check is
// of the cluster as a whole.
type Row struct {
	Check  string `json:"check"`
	Host   string `json:"host"`
	OK     bool   `json:"ok"`
	Detail string `json:"detail"`
	Fix    string `json:"fix,omitempty"` // what to do when it is not ok
	// Skipped means that the check could not be made and that this is no
	// problem; OK is true then, and Detail says why.
	Skipped bool `json:"skipped,omitempty"`
}

// OK is a row of a check that found things as they should be.
func OK(check, host, format string, args ...any) Row {
	return Row{Check: check, Host: host, OK: true, Detail: fmt.Sprintf(format, args...)}
}

// Bad is a row of a check that found a problem.
func Bad(check, host, format string, args ...any) Row {
	return Row{Check: check, Host: host, Detail: fmt.Sprintf(format, args...)}
}

// Skip is a row of a check that could not be made.
func Skip(check, host, format string, args ...any) Row {
	return Row{Check: check, Host: host, OK: true, Skipped: true, Detail: fmt.Sprintf(format, args...)}
}

// Advised returns the row with what to do about it.
func (r Row) Advised(fix string) Row {
	r.Fix = fix
	return r
}

// Problems are the rows that are not ok.
func Problems(rows []Row) []Row {
	return slices.DeleteFunc(slices.Clone(rows), func(r Row) bool { return r.OK })
}

// Hosts counts the different hosts of rows.
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

// Table writes rows as aligned text: host, check, what was found, what to do.
func Table(rows []Row) string {
	var b strings.Builder
	w := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	for _, r := range rows {
		text := r.Detail
		if r.Fix != "" && !r.OK {
			text += "; " + r.Fix
		}
		_, _ = fmt.Fprintf(w, "%s\t%s\t%s\n", cmp.Or(r.Host, "cluster"), r.Check, text)
	}
	_ = w.Flush()
	return strings.TrimRight(b.String(), "\n")
}

// Collect reads the rows that checks have registered under "checks". Rows that
// name no host are of the given one.
func Collect(host string, out engine.Output) []Row {
	list, _ := out["checks"].([]any)
	var rows []Row
	for _, item := range list {
		m, ok := item.(map[string]any)
		if !ok {
			continue
		}
		text := func(key string) string { s, _ := m[key].(string); return s }
		good, _ := m["ok"].(bool)
		skipped, _ := m["skipped"].(bool)
		of, named := m["host"].(string)
		if !named {
			of = host
		}
		rows = append(rows, Row{Check: text("check"), Host: of, OK: good, Detail: text("detail"), Fix: text("fix"), Skipped: skipped})
	}
	return rows
}

// Output is rows as an action's output: all under "checks", those that are not
// ok under "problems" too.
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
