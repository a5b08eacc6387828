package command

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"deployer/engine"
	"deployer/tasks/hostcmd"
	"deployer/tasks/tasktest"
)

func TestCommandRuns(t *testing.T) {
	t.Parallel()
	sys := tasktest.New(t)
	sys.Exec = tasktest.RealExec
	tests := map[string]struct {
		module engine.Module
		want   engine.Output
	}{
		"argv":  {&Command{Argv: []string{"printf", "%s|", "a b", "c"}}, engine.Output{"ran": true, "rc": 0, "stdout": "a b|c|", "stderr": ""}},
		"shell": {&Shell{Cmd: "cat; echo $X; pwd; echo err >&2; exit 3", Stdin: "in ", Env: map[string]string{"X": "y"}, Chdir: "/", OKExits: []int{3}}, engine.Output{"ran": true, "rc": 3, "stdout": "in y\n/", "stderr": "err"}},
		"cmd":   {&Command{Cmd: hostcmd.Words{"echo", "$X", "|"}}, engine.Output{"ran": true, "rc": 0, "stdout": "$X |", "stderr": ""}},
		"bash":  {&Shell{Cmd: "echo ${BASH_VERSION:+bash}", Executable: "/bin/bash"}, engine.Output{"ran": true, "rc": 0, "stdout": "bash", "stderr": ""}},
	}
	for name, tt := range tests {
		change, out, err := tasktest.Run(t, sys, tt.module)
		if err != nil || !change.Needed {
			t.Errorf("%s: needed %t, %v", name, change.Needed, err)
		}
		if diff := cmp.Diff(tt.want, out); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
}

func TestCommandCreatesAndRemoves(t *testing.T) {
	t.Parallel()
	sys := tasktest.New(t)
	sys.Exec = tasktest.RealExec
	sys.Mkdir(t, "/srv")
	tasktest.Converge(t, sys, &Shell{Cmd: "touch " + sys.Path("/srv/done-1"), Creates: "/srv/done-*"})
	tasktest.Converge(t, sys, &Shell{Cmd: "rm " + sys.Path("/srv/done-1"), Removes: "/srv/done-1"})
}

func TestReadOnlyCommandRunsInCheck(t *testing.T) {
	t.Parallel()
	sys := tasktest.New(t)
	sys.Exec = tasktest.RealExec
	change := tasktest.Check(t, sys, &Command{Argv: []string{"echo", "x"}, ReadOnly: true})
	if change.Needed || change.Output["stdout"] != "x" {
		t.Errorf("change %+v", change)
	}
}

func TestFailureHasOutputAndDetail(t *testing.T) {
	t.Parallel()
	sys := tasktest.New(t)
	sys.Exec = tasktest.RealExec
	_, out, err := tasktest.Run(t, sys, &Shell{Cmd: "echo one >&2; echo two >&2; exit 4"})
	failure, ok := errors.AsType[*engine.Failure](err)
	if !ok || failure.Detail != "one\ntwo" || !strings.Contains(failure.Message, "exit code 4: two") {
		t.Errorf("failure %+v", failure)
	}
	if out["rc"] != 4 {
		t.Errorf("output %v", out)
	}
}

func TestErrors(t *testing.T) {
	t.Parallel()
	sys := tasktest.New(t)
	sys.Exec = tasktest.RealExec
	for want, m := range map[string]engine.Module{
		"either cmd or argv is required": &Command{},
		"running none-such":              &Command{Argv: []string{"none-such"}},
		"cmd is empty":                   &Shell{Cmd: " "},
		"not absolute":                   &Command{Argv: []string{"true"}, Creates: "x"},
	} {
		if _, _, err := tasktest.Run(t, sys, m); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want %q", err, want)
		}
	}
}
