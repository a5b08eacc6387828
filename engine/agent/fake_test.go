package agent

import (
	"context"
	"errors"
	"os"

	"deployer/engine"
	"deployer/engine/agent/agenttest"
)

func testRegistry() engine.Registry {
	return engine.NewRegistry([]engine.Kind{
		{Name: "write", New: func() any { return new(agenttest.Write) }},
		{Name: "odd", New: func() any { return new(agenttest.Odd) }},
		{Name: "append", New: func() any { return new(appendOnce) }},
		{Name: "leaky", New: func() any { return new(leaky) }},
		{Name: "gate", New: func() any { return new(gate) }},
		{Name: "sh", New: func() any { return new(shArgs) }},
		{Name: "program", New: func() any { return new(programArgs) }},
		{Name: "fetch", New: func() any { return new(agenttest.Fetch) }},
		{Name: "readsDryRun", New: func() any { return new(readsDryRun) }},
		{Name: "alter", New: func() any { return new(alter) }, Restorer: knobs, Deferred: postponed},
		{Name: "postpone", New: func() any { return new(postpone) }, Deferred: postponed},
	})
}

// appendOnce is a module that leaves a trace when it is applied twice.
type appendOnce struct{ Path string }

func (a *appendOnce) Check(_ context.Context, sys engine.System) (engine.Change, error) {
	if _, err := os.Stat(sys.Path(a.Path)); err == nil {
		return engine.NoChange(nil), nil
	}
	return engine.Changed(), nil
}

func (a *appendOnce) Apply(_ context.Context, sys engine.System, _ engine.Change) (engine.Output, error) {
	f, err := os.OpenFile(sys.Path(a.Path), os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, err
	}
	_, err = f.WriteString("x")
	return nil, errors.Join(err, f.Close())
}

// gate is a module that waits forever unless it is open, and changes nothing.
type gate struct{ Open bool }

func (*gate) Check(context.Context, engine.System) (engine.Change, error) {
	return engine.Change{Needed: true, Wait: true}, nil
}

func (g *gate) Apply(ctx context.Context, sys engine.System, _ engine.Change) (engine.Output, error) {
	if g.Open {
		return nil, nil
	}
	sys.Progress("waiting")
	<-ctx.Done()
	return nil, context.Cause(ctx)
}

// readsDryRun is a module that has a change only when an earlier step would have
// changed its path.
type readsDryRun struct{ Path string }

func (f *readsDryRun) Check(_ context.Context, sys engine.System) (engine.Change, error) {
	if sys.(engine.DryRunView).WouldChange(f.Path) {
		return engine.Changed(), nil
	}
	return engine.NoChange(nil), nil
}

func (*readsDryRun) Apply(context.Context, engine.System, engine.Change) (engine.Output, error) {
	return nil, nil
}
