// Package checkresult is the shape of a check's outcome, the same for every check of
// this project, so that tables of many hosts can be made of them.
package checkresult

import (
	"fmt"

	"deployer/engine"
)

// Row is the outcome of one check. A host does not know its name in the
// inventory; who collects the rows adds it.
type Row struct {
	Check  string
	OK     bool
	Detail string // what was found
	Fix    string // what to do when it is not ok; may be empty
}

// OK is the outcome of a check that found things as they should be.
func OK(format string, args ...any) Row {
	return Row{OK: true, Detail: fmt.Sprintf(format, args...)}
}

// Problem is the outcome of a check that found a problem, with what to do about it.
func Problem(fix, format string, args ...any) Row {
	return Row{Detail: fmt.Sprintf(format, args...), Fix: fix}
}

// Named returns the row under the name of its check.
func (r Row) Named(check string) Row {
	r.Check = check
	return r
}

// Output holds all rows under "checks", and those that are not ok under
// "problems" too; a row has the keys check, ok, detail and fix.
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
