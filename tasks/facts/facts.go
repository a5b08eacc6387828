// Package facts has the module that gathers the present facts of the host, and more facts
// than the agent reports at its start.
package facts

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"deployer/engine"
	"deployer/engine/facts"
	"deployer/strictyaml"
)

// Facts outputs the current facts that the agent reports, and the requested sets of
// facts. Register the task to use them; the variable facts keeps its values from the
// connection.
type Facts struct {
	Gather strictyaml.Texts `yaml:"gather" rule:"in:hardware,mounts,network,packages,reboot,services" doc:"additional sets of facts: hardware (maker, processor, disks), mounts (with sizes), network (interfaces, name servers), packages (name -> version), reboot (required, and why), services (name -> state). Default none"`
}

var _ engine.Module = (*Facts)(nil)

// set reads one set of facts; nil when the host has none.
type set func(ctx context.Context, sys engine.System) (any, error)

var sets = map[string]set{"hardware": hardware, "mounts": mounts, "network": network, "packages": installed, "reboot": reboot, "services": services}

// Check reads the facts; nothing changes.
func (f *Facts) Check(ctx context.Context, sys engine.System) (engine.Change, error) {
	out, err := engine.NewOutput(facts.Read(sys.Path("/")))
	if err != nil {
		return engine.Change{}, err
	}
	for _, name := range f.Gather {
		read, ok := sets[name]
		if !ok {
			return engine.Change{}, fmt.Errorf("unknown set of facts %q: want one of %s", name, strings.Join(slices.Sorted(maps.Keys(sets)), ", "))
		}
		value, err := read(ctx, sys)
		if err != nil {
			return engine.Change{}, fmt.Errorf("gathering %s: %w", name, err)
		}
		out[name] = value
	}
	return engine.NoChange(out), nil
}

// Apply is never called.
func (*Facts) Apply(context.Context, engine.System, engine.Change) (engine.Output, error) {
	return nil, nil
}
