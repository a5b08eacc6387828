package main

import (
	"strings"
	"testing"

	"deployer/engine"
)

func commandResult(status engine.Status, rc float64, stdout, stderr string) *engine.Result {
	return &engine.Result{Status: status, Output: engine.Output{"rc": rc, "stdout": stdout, "stderr": stderr}}
}

// TestExecResults checks that equal results share an entry, and that results which
// differ in exit code, output or reachability do not.
func TestExecResults(t *testing.T) {
	t.Parallel()
	a := &execResults{}
	report := &engine.Report{}
	give := func(host string, r *engine.Result) {
		report.Hosts = append(report.Hosts, engine.HostReport{Host: host})
		if r != nil {
			a.Emit(engine.Event{Type: engine.EventStepEnd, Host: host, Result: r})
		}
	}
	give("n1", commandResult(engine.StatusChanged, 0, "up", ""))
	give("n2", commandResult(engine.StatusChanged, 0, "up", ""))
	give("n3", commandResult(engine.StatusFailed, 2, "up", "no disk"))
	give("n4", nil)
	give("n5", commandResult(engine.StatusChanged, 0, "", ""))
	give("n6", commandResult(engine.StatusChanged, 0, "up", ""))
	report.Hosts[3].Failure, report.Hosts[3].Unreachable = &engine.Failure{Message: "no route to host"}, true
	var b strings.Builder
	if err := printExecResults(&b, a.inOrder(report)); err != nil {
		t.Fatal(err)
	}
	want := `== n[1:2], n6 (3)
up
== n3 (1)  failed, exit code 2
up
no disk
== n4 (1)  unreachable
no route to host
== n5 (1)
`
	if b.String() != want {
		t.Errorf("got\n%s\nwant\n%s", b.String(), want)
	}
}
