package command

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"deployer/engine"
)

// program is the common form of a command and a script.
type program struct {
	creates, removes string
	onResume         string
	readOnly         bool
	effect           engine.Effect
	run              func(context.Context, engine.System) (engine.Output, error)
}

// check evaluates creates and removes, and on_resume when an earlier attempt was
// interrupted; a program that only reads runs here.
func (p program) check(ctx context.Context, sys engine.System) (engine.Change, error) {
	if why, err := settled(sys, p.creates, p.removes); err != nil || why != "" {
		return engine.NoChange(engine.Output{"ran": false, "why": why}), err
	}
	if p.readOnly {
		out, err := p.run(ctx, sys)
		return engine.NoChange(out), err
	}
	if why, err := p.interrupted(sys); err != nil || why != "" {
		return engine.NoChange(engine.Output{"ran": false, "why": why}), err
	}
	return engine.Changed(p.effect), nil
}

// interrupted returns the reason why the program is not repeated after an interrupted
// attempt; empty when it runs.
func (p program) interrupted(sys engine.System) (string, error) {
	earlier, ok := sys.(engine.Interruptions)
	if !ok || p.onResume != "fail" && p.onResume != "skip" {
		return "", nil
	}
	run, err := earlier.Interrupted()
	switch {
	case err != nil || run == "":
		return "", err
	case p.onResume == "fail":
		return "", &engine.InterruptedError{Run: run}
	}
	return "run " + run + " was interrupted in this step, which is not run again (on_resume: skip)", nil
}

// settled returns the reason why nothing has to run; empty when the program has to.
func settled(sys engine.System, creates, removes string) (string, error) {
	if creates != "" {
		there, err := exists(sys, creates)
		if err != nil || there {
			return creates + " exists", err
		}
	}
	if removes != "" {
		there, err := exists(sys, removes)
		if err != nil || !there {
			return removes + " does not exist", err
		}
	}
	return "", nil
}

func exists(sys engine.System, pattern string) (bool, error) {
	if !filepath.IsAbs(pattern) {
		return false, fmt.Errorf("path %q is not absolute", pattern)
	}
	if _, err := os.Lstat(sys.Path(pattern)); err == nil {
		return true, nil
	}
	found, err := filepath.Glob(sys.Path(pattern))
	return len(found) > 0, err
}
