package main

import (
	"io"
	"strings"
	"testing"
)

// Errors of a command line are reported before the machine is inspected.
func TestInvalidCommandLines(t *testing.T) {
	for line, want := range map[string]string{
		"down --all --stale":         "exclude each other",
		"down --all --name x":        "exclude each other",
		"down --images":              "--images requires --all",
		"ctl":                        "write it after --",
		"ssh":                        "at least 1 arg",
		"kill":                       "at least 1 arg",
		"up more":                    "unknown command",
		"up --masters 0 --minions 0": "has no hosts",
		"up --name a.b":              "lab name",
		"down --name ../x":           "lab name",
		"inventory --name A":         "lab name",
	} {
		root := command()
		root.SetArgs(strings.Fields(line))
		root.SetOut(io.Discard)
		root.SetErr(io.Discard)
		err := root.Execute()
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got error %v, want one with %q", line, err, want)
		}
	}
}
