package command

import (
	"context"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"deployer/engine"
	"deployer/tasks/hostcmd"
	"deployer/tasks/tasktest"
)

func TestScriptRemovesItsFile(t *testing.T) {
	t.Parallel()
	elf, err := os.ReadFile("/bin/echo")
	if err != nil {
		t.Fatal(err)
	}
	c := &tasktest.Controller{Files: map[string]string{
		"sh":      "#!/bin/sh -e\necho \"$1|$2|$X|$(cat)\"; false; echo not reached\n",
		"bare":    "echo \"bare $1\"\n",
		"bash":    "echo ${BASH_VERSION:+bash}",
		"program": string(elf),
		"large":   "#!/bin/sh\necho large\n" + strings.Repeat("# comment\n", inlineLimit/10),
	}}
	tests := map[string]struct {
		script Script
		want   engine.Output
	}{
		"shebang with an argument": {Script{Cmd: hostcmd.Words{"sh", "a b", "c"}, Env: map[string]string{"X": "y"}, Stdin: "in", OKExits: []int{1}},
			engine.Output{"ran": true, "rc": 1, "stdout": "a b|c|y|in", "stderr": ""}},
		"without a first line":   {Script{Cmd: hostcmd.Words{"bare", "x"}}, engine.Output{"ran": true, "rc": 0, "stdout": "bare x", "stderr": ""}},
		"executable":             {Script{Cmd: hostcmd.Words{"bash"}, Executable: "/bin/bash"}, engine.Output{"ran": true, "rc": 0, "stdout": "bash", "stderr": ""}},
		"a program":              {Script{Cmd: hostcmd.Words{"program", "-n", "hi"}}, engine.Output{"ran": true, "rc": 0, "stdout": "hi", "stderr": ""}},
		"larger than a step may": {Script{Cmd: hostcmd.Words{"large"}}, engine.Output{"ran": true, "rc": 0, "stdout": "large", "stderr": ""}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			sys := tasktest.New(t)
			sys.Exec = tasktest.RealExec
			sys.Mkdir(t, "/tmp")
			sys.AddBlob([]byte(c.Files[tt.script.Cmd[0]]))
			kind, m, err := tt.script.Prepare(context.Background(), c)
			if err != nil || kind != "script_run" {
				t.Fatal(kind, err)
			}
			_, out, err := tasktest.Run(t, sys, m)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.want, out); diff != "" {
				t.Error(diff)
			}
			if left, err := os.ReadDir(sys.Path("/tmp")); err != nil || len(left) != 0 {
				t.Errorf("left behind: %v, %v", left, err)
			}
		})
	}
}

func TestScriptCreatesReadOnlyAndErrors(t *testing.T) {
	t.Parallel()
	sys := tasktest.New(t)
	sys.Exec = tasktest.RealExec
	sys.Mkdir(t, "/tmp")
	tasktest.Converge(t, sys, &Run{Name: "make", Content: "touch " + sys.Path("/tmp/made"), Program: []string{"sh"}, Creates: "/tmp/made"})
	if change := tasktest.Check(t, sys, &Run{Name: "look", Content: "echo seen", Program: []string{"sh"}, ReadOnly: true}); change.Needed || change.Output["stdout"] != "seen" {
		t.Errorf("change %+v", change)
	}
	_, _, err := tasktest.Run(t, sys, &Run{Name: "bad.sh", Content: "exit 3", Program: []string{"sh"}, Args: []string{"x"}})
	if err == nil || !strings.Contains(err.Error(), "bad.sh x ended with exit code 3") {
		t.Errorf("error %v", err)
	}
	for want, s := range map[string]*Script{"give the name of a script": {}, "reading script none": {Cmd: hostcmd.Words{"none"}}} {
		if _, _, err := s.Prepare(context.Background(), &tasktest.Controller{}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want %q", err, want)
		}
	}
}
