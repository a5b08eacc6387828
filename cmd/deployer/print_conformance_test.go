package main

import (
	"bytes"
	"testing"

	"github.com/google/go-cmp/cmp"

	"deployer/tasks/control/conformance"
	"deployer/tasks/control/report"
)

// TestPrintConformance: failed tests come with their causes, and the summary is last.
func TestPrintConformance(t *testing.T) {
	rows := []report.Row{
		report.Bad("[sig-network] DNS should work", "", "timed out; In [It] at: dns.go:1"),
		report.Bad(conformance.CheckName, "", "1 of 2 failed in 3s").Advised("see e2e.log"),
		report.Skip("images of tests", "", "not delivered: a:1"),
		report.Bad("host", "n9", "connection refused"),
	}
	var out bytes.Buffer
	if err := printConformance(&out, rows, "here"); err != nil {
		t.Fatal(err)
	}
	want := `FAIL  [sig-network] DNS should work
      timed out; In [It] at: dns.go:1
note  not delivered: a:1
BAD   n9  host: connection refused
conformance tests: 1 of 2 failed in 3s
results in here
`
	if diff := cmp.Diff(want, out.String()); diff != "" {
		t.Error(diff)
	}
}
