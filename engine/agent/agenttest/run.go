package agenttest

import (
	"context"

	"deployer/engine"
)

// Runner runs segments, as a session with an agent does.
type Runner interface {
	Run(ctx context.Context, seg engine.Segment, on func(engine.Result)) error
}

// RunOne runs one step in a segment of its own, beside segments in flight, and returns its
// result.
func RunOne(ctx context.Context, s Runner, run string, step engine.Step, check bool) (engine.Result, error) {
	var result engine.Result
	err := s.Run(ctx, engine.Segment{Run: run, Steps: []engine.Step{step}, CheckOnly: check}, func(r engine.Result) { result = r })
	return result, err
}
