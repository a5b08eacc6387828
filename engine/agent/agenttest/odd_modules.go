package agenttest

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"deployer/engine"
)

// Odd is a module that fails, panics or misbehaves in the way that Do names.
type Odd struct {
	Do   string
	Text string
	For  time.Duration
}

// Check implements engine.Module.
func (o *Odd) Check(context.Context, engine.System) (engine.Change, error) {
	if o.Do == "fail-check" {
		return engine.Change{}, errors.New(o.Text)
	}
	return engine.Changed(engine.Effect{Kind: engine.EffectCommand, Target: o.Do, Action: "do"}), nil
}

// Apply implements engine.Module.
func (o *Odd) Apply(ctx context.Context, sys engine.System, _ engine.Change) (engine.Output, error) {
	switch o.Do {
	case "nothing":
		return nil, nil
	case "fail":
		return nil, &engine.Failure{Message: o.Text, Detail: "the detail"}
	case "panic":
		panic(o.Text)
	case "say":
		sys.Progress(o.Text)
		return engine.Output{"text": o.Text, "list": []string{o.Text}}, nil
	case "huge": // more than an output may be
		return engine.Output{"text": strings.Repeat("x", 8<<20+1)}, nil
	case "count-to-fail": // fails until the file has three bytes
		f, err := os.OpenFile(sys.Path(o.Text), os.O_APPEND|os.O_CREATE|os.O_RDWR, 0o600)
		if err != nil {
			return nil, err
		}
		defer f.Close()
		_, _ = f.WriteString("x")
		if info, _ := f.Stat(); info.Size() < 3 {
			return nil, fmt.Errorf("only %d", info.Size())
		}
		return nil, nil
	case "wait": // until cancelled, or for a time
		sys.Progress("waiting")
		select {
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		case <-time.After(o.For):
			return engine.Output{"waited": true}, os.WriteFile(sys.Path(o.Text), []byte("done"), 0o600)
		}
	case "run":
		r, err := sys.Run(ctx, engine.Command{Argv: []string{"/bin/sh", "-c", o.Text}})
		return engine.Output{"exit": r.Exit, "stdout": r.Stdout, "stderr": r.Stderr}, err
	case "call":
		var out any
		err := sys.Call(ctx, o.Text, map[string]string{"ask": "me"}, &out)
		return engine.Output{"answer": out}, err
	}
	return nil, fmt.Errorf("cannot do %q", o.Do)
}
