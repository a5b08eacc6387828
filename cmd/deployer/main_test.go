package main

import (
	"context"
	"errors"
	"io"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
)

// TestMain runs the real main as `deployer` in scripts.
func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){
		"deployer": func() {
			var stdout io.Writer = os.Stdout
			if texts := os.Getenv(blockVariable); texts != "" {
				stdout = &blockingWriter{Writer: stdout, texts: strings.Split(texts, "\n")}
			}
			code := run(context.Background(), os.Args[1:], os.Stdin, stdout, os.Stderr)
			if to := os.Getenv(statusVariable); to != "" {
				status, err := os.ReadFile("/proc/self/status")
				if err == nil {
					err = os.WriteFile(to, status, 0o600)
				}
				if err != nil {
					panic(err)
				}
			}
			os.Exit(code)
		},
	})
}

// statusVariable names the file to which a deployer of the tests writes its /proc
// status when it ends.
const statusVariable = "DEPLOYER_TEST_STATUS"

// blockVariable has the texts, one per line, of the event at which a deployer of the tests
// stops forever; a kill then finds it there, however slow the machine is.
const blockVariable = "DEPLOYER_TEST_BLOCK"

// blockingWriter blocks forever after it has written a line that contains all texts.
type blockingWriter struct {
	io.Writer
	texts []string
}

func (w *blockingWriter) Write(p []byte) (int, error) {
	n, err := w.Writer.Write(p)
	for line := range strings.Lines(string(p)) {
		if containsAll(line, w.texts) {
			select {}
		}
	}
	return n, err
}

func containsAll(line string, texts []string) bool {
	return !slices.ContainsFunc(texts, func(text string) bool { return !strings.Contains(line, text) })
}

// TestScripts runs the scripts of testdata. UPDATE_SCRIPTS=1 rewrites the expected
// output; read the diff.
func TestScripts(t *testing.T) {
	for _, dir := range []string{"testdata/validate", "testdata/cli", "testdata/run", "testdata/ci"} {
		testscript.Run(t, testscript.Params{
			Dir:           dir,
			UpdateScripts: os.Getenv("UPDATE_SCRIPTS") != "",
			Setup: func(env *testscript.Env) error {
				env.Setenv("XDG_CACHE_HOME", env.WorkDir+"/cache")
				env.Setenv("XDG_STATE_HOME", env.WorkDir+"/state")
				env.Setenv("HOME", env.WorkDir)
				return nil
			},
			Cmds: map[string]func(*testscript.TestScript, bool, []string){"exits": exits},
		})
	}
}

// exits CODE COMMAND...: runs a command that must end with exactly that code.
func exits(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: exits CODE COMMAND [ARG...]")
	}
	got := 0
	if err := ts.Exec(args[1], args[2:]...); err != nil {
		var exit *exec.ExitError
		if !errors.As(err, &exit) {
			ts.Fatalf("%v", err)
		}
		got = exit.ExitCode()
	}
	if strconv.Itoa(got) != args[0] {
		ts.Fatalf("exit code %d, want %s", got, args[0])
	}
}
