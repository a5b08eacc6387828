package agent

import (
	"context"
	"encoding/json"
	"errors"
	"io/fs"
	"os/exec"
	"strings"
	"syscall"
	"testing"

	"deployer/engine"
	"deployer/engine/agent/agenttest"
)

// leaky is a module whose command line, messages and errors hold a secret.
type leaky struct{ Fails string }

const leak = "hunter2-hunter2"

func (l *leaky) Check(_ context.Context, sys engine.System) (engine.Change, error) {
	sys.Progress("reading with " + leak)
	effects := []engine.Effect{
		{Kind: engine.EffectCommand, Target: "mysql -p" + leak, Action: "run " + leak},
		{Kind: engine.EffectKernel, Target: "kernel.x", Action: `set "" -> "` + leak + `"`, Diff: "+" + leak},
	}
	change := engine.Changed(effects...)
	change.Output = engine.Output{"stdout": leak}
	return change, nil
}

func (l *leaky) Apply(ctx context.Context, sys engine.System, _ engine.Change) (engine.Output, error) {
	switch l.Fails {
	case "program":
		return nil, &engine.Failure{Message: "mysql -p" + leak + " ended with exit code 4: denied for " + leak, Detail: leak, Exit: 4}
	case "start":
		return nil, &exec.Error{Name: leak, Err: exec.ErrNotFound}
	case "system":
		return nil, &fs.PathError{Op: "open", Path: "/" + leak, Err: syscall.EACCES}
	case "panic":
		panic(leak)
	case "slow":
		<-ctx.Done()
		return nil, errors.New(leak)
	}
	return nil, nil
}

// TestSecretStepSaysNothing: no text of a secret step, such as a command line, output of a
// program or an error, reaches output or journal: only its module, the exit code and the
// error of the system do. The step's output leaves the host, because later tasks need it.
func TestSecretStepSaysNothing(t *testing.T) {
	for _, tt := range []struct{ fails, want string }{
		{"program", "leaky failed with exit code 4"},
		{"start", "leaky failed; the step is secret"},
		{"system", "leaky failed: permission denied"},
		{"panic", "bug of deployer"},
		{"slow", "took longer than its timeout of 50ms"},
		{"", ""},
	} {
		b := newTestHost(t, nil)
		step := agenttest.Step(t, "s", "leaky", leaky{Fails: tt.fails})
		step.Secret = true
		if tt.fails == "slow" {
			step.Timeout = 50e6
		}
		r := b.run(t, step)[0]
		if r.Output["stdout"] != leak && tt.fails == "" {
			t.Errorf("%s: later tasks do not see the output: %v", tt.fails, r.Output)
		}
		r.Output = nil
		raw, err := json.Marshal(r)
		if err != nil {
			t.Fatal(err)
		}
		if strings.Contains(string(raw), leak) {
			t.Errorf("%s: %s", tt.fails, raw)
		}
		if tt.want != "" && (r.Failure == nil || !strings.Contains(r.Failure.Message, tt.want)) {
			t.Errorf("%s: %+v, want %q", tt.fails, r.Failure, tt.want)
		}
		if target := r.Change.Effects[0].Target; target != "leaky" {
			t.Errorf("%s: the command is shown as %q", tt.fails, target)
		}
		for _, e := range b.events.Of(engine.EventStepText) {
			if strings.Contains(e.Text, leak) {
				t.Errorf("%s: progress %q", tt.fails, e.Text)
			}
		}
	}
}

// A secret step is compared with its plan by module and target, and a refusal names
// both without secrets.
func TestSecretStepKeepsToItsPlan(t *testing.T) {
	b := newTestHost(t, nil)
	step := agenttest.Step(t, "s", "leaky", leaky{})
	step.Secret, step.Expect = true, &engine.Expect{Targets: []string{"command leaky", "kernel kernel.x"}}
	want(t, b.run(t, step), "s=changed")
	step.Expect = &engine.Expect{}
	r := b.run(t, step)[0]
	if r.Failure == nil || !strings.Contains(r.Failure.Message, "differs from the plan: command leaky") {
		t.Errorf("got %+v", r.Failure)
	}
}
