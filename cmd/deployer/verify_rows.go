package main

import (
	"cmp"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"

	"deployer/tasks/control/report"
)

// tally counts rows. A skipped check counts neither as good nor as bad.
type tally struct{ good, bad, skipped int }

func (t *tally) add(r report.Row) {
	switch {
	case r.Skipped:
		t.skipped++
	case r.OK:
		t.good++
	default:
		t.bad++
	}
}

// made returns the number of checks that were not skipped.
func (t *tally) made() int { return t.good + t.bad }

// String formats a tally: "ok 5 of 5, 1 skipped".
func (t *tally) String() string {
	if t.made() == 0 {
		return "skipped"
	}
	text := fmt.Sprintf("ok %d of %d", t.good, t.made())
	if t.bad > 0 {
		text = fmt.Sprintf("BAD %d of %d", t.bad, t.made())
	}
	return text + t.left()
}

// left formats the number of skipped checks, if any.
func (t *tally) left() string {
	if t.skipped == 0 {
		return ""
	}
	return fmt.Sprintf(", %d skipped", t.skipped)
}

// checkRows summarises the rows of one check.
type checkRows struct {
	tally
	detail string
}

// printRows prints a line for each check with the number of its good rows, so that a
// thousand hosts fit on a screen, and then every bad row.
func printRows(w io.Writer, rows []report.Row) error {
	var order []string
	var all tally
	checks := map[string]*checkRows{}
	for _, r := range rows {
		c := checks[r.Check]
		if c == nil {
			c = &checkRows{}
			checks[r.Check] = c
			order = append(order, r.Check)
		}
		// The detail is that of one row, preferably of a check that was not skipped.
		if c.made() == 0 {
			c.detail = cmp.Or(r.Detail, c.detail)
		}
		c.add(r)
		all.add(r)
	}
	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "CHECK\tRESULT\tDETAIL")
	for _, name := range order {
		fmt.Fprintf(table, "%s\t%s\t%s\n", name, &checks[name].tally, strings.ReplaceAll(checks[name].detail, "\n", " "))
	}
	if err := table.Flush(); err != nil {
		return err
	}
	fmt.Fprintln(w)
	for _, r := range report.Problems(rows) {
		fmt.Fprintf(w, "BAD  %s  %s: %s\n", cmp.Or(r.Host, "cluster"), r.Check, r.Detail)
		if r.Fix != "" {
			fmt.Fprintf(w, "     %s\n", r.Fix)
		}
	}
	if all.bad == 0 {
		_, err := fmt.Fprintf(w, "healthy: %d checks passed%s\n", all.good, all.left())
		return err
	}
	_, err := fmt.Fprintf(w, "not healthy: %d of %d checks found problems%s\n", all.bad, all.made(), all.left())
	return err
}
