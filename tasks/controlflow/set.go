package controlflow

import (
	"context"
	"errors"

	"gopkg.in/yaml.v3"

	"deployer/engine"
)

// Set gives values names for later tasks of the host, as `set: {port: 8080}` does.
type Set struct {
	Values    map[string]any `yaml:"values" required:"true" short:"true" defines:"true" doc:"name -> value, of any type: variables of this host from now on, or fields of the name given with register"`
	Cacheable uncached       `yaml:"cacheable" doc:"not supported: values exist only in the run that sets them"`
}

var _ engine.Module = (*Set)(nil)

// uncached is the type of the argument that Ansible calls cacheable; every value is
// an error.
type uncached struct{}

// UnmarshalYAML returns an error with the form to write instead.
func (*uncached) UnmarshalYAML(*yaml.Node) error {
	return errors.New("values are of this run only: what every run is to know belongs in the inventory's vars, or in a file on the host that `read` reads")
}

// YAMLSchema allows nothing.
func (uncached) YAMLSchema() map[string]any { return map[string]any{"not": map[string]any{}} }

// ReadOnly is true: nothing is touched.
func (*Set) ReadOnly() bool { return true }

// Check returns the values.
func (s *Set) Check(context.Context, engine.System) (engine.Change, error) {
	return engine.NoChange(engine.Output(s.Values)), nil
}

// Apply is never needed.
func (*Set) Apply(context.Context, engine.System, engine.Change) (engine.Output, error) {
	return nil, nil
}
