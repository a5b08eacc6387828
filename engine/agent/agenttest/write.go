// Package agenttest holds the fixtures of the tests of both ends of a session:
// modules, blobs, a sink for events, and frames.
package agenttest

import (
	"context"
	"encoding/json"
	"os"
	"testing"

	"deployer/engine"
)

// Write is a small module that writes a file with a content.
type Write struct {
	Path    string
	Content string
}

// Check implements engine.Module.
func (w *Write) Check(_ context.Context, sys engine.System) (engine.Change, error) {
	have, err := os.ReadFile(sys.Path(w.Path))
	if err == nil && string(have) == w.Content {
		return engine.NoChange(engine.Output{"size": len(have)}), nil
	}
	return engine.Changed(engine.Effect{Kind: engine.EffectFile, Target: w.Path, Action: "replace", Diff: "-" + string(have) + "\n+" + w.Content}), nil
}

// Apply implements engine.Module.
func (w *Write) Apply(_ context.Context, sys engine.System, _ engine.Change) (engine.Output, error) {
	if err := sys.Backup(w.Path); err != nil {
		return nil, err
	}
	return engine.Output{"size": len(w.Content), "run": sys.RunID()}, os.WriteFile(sys.Path(w.Path), []byte(w.Content), 0o644)
}

// Step returns a step with these arguments.
func Step(t testing.TB, id, module string, args any) engine.Step {
	t.Helper()
	raw, err := json.Marshal(args)
	if err != nil {
		t.Fatal(err)
	}
	return engine.Step{ID: id, Name: "step " + id, Module: module, Args: raw}
}
