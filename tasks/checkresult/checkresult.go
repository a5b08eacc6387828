// Package checkresult has the outcome of one check, in one form for all checks, from which
// tables of many hosts are made.
package checkresult

import (
	"fmt"

	"deployer/engine"
)

// Row is the outcome of one check. A host does not know its name in the inventory;
// the collector of the rows adds it.
type Row struct {
	Check  string
	OK     bool
	Detail string // finding
	Fix    string // advice when OK is false; may be empty
}

// OK returns the outcome of a passed check.
func OK(format string, args ...any) Row {
	return Row{OK: true, Detail: fmt.Sprintf(format, args...)}
}

// Problem returns the outcome of a failed check, with advice in fix.
func Problem(fix, format string, args ...any) Row {
	return Row{Detail: fmt.Sprintf(format, args...), Fix: fix}
}

// Named returns the row with the name of its check.
func (r Row) Named(check string) Row {
	r.Check = check
	return r
}

// Output encodes rows: all under "checks", the failed ones also under "problems". A
// row has the keys check, ok, detail and fix.
func Output(rows []Row) engine.Output {
	checks, problems := []any{}, []any{}
	for _, r := range rows {
		m := map[string]any{"check": r.Check, "ok": r.OK, "detail": r.Detail, "fix": r.Fix}
		checks = append(checks, m)
		if !r.OK {
			problems = append(problems, m)
		}
	}
	return engine.Output{"checks": checks, "problems": problems}
}
