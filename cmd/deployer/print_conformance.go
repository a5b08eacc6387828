package main

import (
	"fmt"
	"io"

	"deployer/tasks/control/conformance"
	"deployer/tasks/control/report"
)

// printConformance prints the failed tests with the first lines of their causes, what could not be
// tested, and the summary.
func printConformance(w io.Writer, rows []report.Row, dir string) error {
	for _, r := range rows {
		switch {
		case r.Check == conformance.CheckName:
		case r.Skipped:
			fmt.Fprintf(w, "note  %s\n", r.Detail)
		case !r.OK && r.Host != "":
			fmt.Fprintf(w, "BAD   %s  %s: %s\n", r.Host, r.Check, r.Detail)
		case !r.OK:
			fmt.Fprintf(w, "FAIL  %s\n      %s\n", r.Check, r.Detail)
		}
	}
	for _, r := range rows {
		if r.Check == conformance.CheckName {
			fmt.Fprintf(w, "%s: %s\n", r.Check, r.Detail)
		}
	}
	_, err := fmt.Fprintf(w, "results in %s\n", dir)
	return err
}
