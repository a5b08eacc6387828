package main

import (
	"testing"

	"deployer/engine"
	"deployer/operations"
)

func TestExitOutcome(t *testing.T) {
	good := engine.HostReport{Host: "m1", OK: 3}
	changed := engine.HostReport{Host: "m2", Changed: 1}
	broken := engine.HostReport{Host: "n1", Failure: &engine.Failure{Message: "unreachable"}, Unreachable: true}
	for name, c := range map[string]struct {
		report engine.Report
		want   int
	}{
		"all hosts completed":      {engine.Report{Hosts: []engine.HostReport{good, changed}}, exitOK},
		"one host failed":          {engine.Report{Hosts: []engine.HostReport{good, broken}}, exitPartial},
		"all hosts failed":         {engine.Report{Hosts: []engine.HostReport{broken, broken}}, exitRefused},
		"aborted before a change":  {engine.Report{Hosts: []engine.HostReport{good, broken}, Aborted: "too many"}, exitRefused},
		"aborted after a change":   {engine.Report{Hosts: []engine.HostReport{changed, broken}, Aborted: "too many"}, exitFailed},
		"a check that was aborted": {engine.Report{Hosts: []engine.HostReport{changed, broken}, Aborted: "too many", Check: true}, exitRefused},
		"interrupted":              {engine.Report{Hosts: []engine.HostReport{changed, broken}, Interrupted: true}, exitInterrupted},
	} {
		if got := exitCode(operations.Outcome(&c.report)); got != c.want {
			t.Errorf("%s: exit code %d, want %d", name, got, c.want)
		}
	}
}
