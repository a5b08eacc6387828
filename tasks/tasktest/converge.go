package tasktest

import (
	"context"
	"encoding/json"
	"os/exec"
	"reflect"
	"testing"

	"deployer/engine"
)

// Travel sends a module through JSON, as the controller sends it to an agent.
func Travel(t testing.TB, m engine.Module) engine.Module {
	t.Helper()
	raw, err := json.Marshal(m)
	if err != nil {
		t.Fatalf("arguments do not travel: %v", err)
	}
	out := reflect.New(reflect.TypeOf(m).Elem()).Interface()
	if err := json.Unmarshal(raw, out); err != nil {
		t.Fatalf("arguments do not arrive: %v", err)
	}
	return out.(engine.Module)
}

// Check runs only the check and fails the test on an error, or when the check has
// changed the host.
func Check(t testing.TB, sys engine.System, m engine.Module) engine.Change {
	t.Helper()
	m = Travel(t, m)
	var change engine.Change
	var err error
	assertUnchanged(t, sys, func() { change, err = m.Check(context.Background(), sys) })
	if err != nil {
		t.Fatalf("check: %v", err)
	}
	return change
}

// Run checks and, when a change is needed, applies.
func Run(t testing.TB, sys engine.System, m engine.Module) (engine.Change, engine.Output, error) {
	t.Helper()
	m = Travel(t, m)
	change, err := m.Check(context.Background(), sys)
	if err != nil || !change.Needed {
		return change, change.Output, err
	}
	out, err := m.Apply(context.Background(), sys, change)
	return change, out, err
}

// Converge runs a module that must change something: only what its check has predicted, with a
// backup of each changed resource. A second check must find nothing to do. Converge returns the first
// change.
func Converge(t testing.TB, sys engine.System, m engine.Module) engine.Change {
	t.Helper()
	m = Travel(t, m)
	var change engine.Change
	var err error
	assertUnchanged(t, sys, func() { change, err = m.Check(context.Background(), sys) })
	if err != nil {
		t.Fatalf("first run: %v", err)
	}
	if !change.Needed {
		t.Fatal("first run: no change needed, want one")
	}
	assertPredicted(t, sys, change, func() { _, err = m.Apply(context.Background(), sys, change) })
	if err != nil {
		t.Fatalf("first run: %v", err)
	}
	if again := Check(t, sys, m); again.Needed {
		t.Fatalf("second run: still wants %+v, want no change", again.Effects)
	}
	return change
}

// Actions lists the target and action of each effect, for comparing.
func Actions(change engine.Change) []string {
	var out []string
	for _, e := range change.Effects {
		out = append(out, e.Target+": "+e.Phrase())
	}
	return out
}

// RealExec runs commands on the machine that runs the test.
func RealExec(ctx context.Context, cmd engine.Command) (engine.CommandResult, error) {
	return execute(exec.CommandContext(ctx, cmd.Argv[0], cmd.Argv[1:]...), cmd)
}
