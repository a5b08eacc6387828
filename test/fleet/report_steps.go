package fleet

import (
	"bytes"
	"context"
	"encoding/json"
	"maps"

	"deployer/engine"
)

// ReportSteps returns a registry whose modules report progress before they check. An agent
// sends the results before a report, so each result travels in a frame of its own.
func ReportSteps(registry engine.Registry) engine.Registry {
	r := maps.Clone(registry)
	for name, k := range r {
		make := k.New
		if _, ok := make().(engine.Module); !ok {
			continue // prepared on the controller
		}
		k.New = func() any { return &reportingModule{make().(engine.Module)} }
		r[name] = k
	}
	return r
}

// reportingModule reports progress before it checks.
type reportingModule struct{ engine.Module }

// UnmarshalJSON decodes the module's arguments as strictly as the agent does.
func (m *reportingModule) UnmarshalJSON(data []byte) error {
	d := json.NewDecoder(bytes.NewReader(data))
	d.DisallowUnknownFields()
	return d.Decode(m.Module)
}

// Check implements engine.Module.
func (m *reportingModule) Check(ctx context.Context, sys engine.System) (engine.Change, error) {
	sys.Progress("checking")
	return m.Module.Check(ctx, sys)
}
