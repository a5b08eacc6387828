package config

import (
	"slices"
	"strings"

	"deployer/engine/graph"
	"deployer/strictyaml"
)

// Reference splits STAGE.OUTPUT; is is false for any other text.
func (c *Config) Reference(value string) (stage, output string, is bool) {
	i := strings.LastIndex(value, ".")
	if i < 0 {
		return "", "", false
	}
	_, known := c.Stages.Get(value[:i])
	return value[:i], value[i+1:], known
}

// precedes reports whether a stage needs another one, directly or not.
func (c *Config) precedes(before, after string) bool {
	seen := map[string]bool{}
	var walk func(name string) bool
	walk = func(name string) bool {
		if seen[name] {
			return false
		}
		seen[name] = true
		s, _ := c.Stages.Get(name)
		return slices.ContainsFunc(s.Needs, func(n string) bool { return n == before || walk(n) })
	}
	return walk(after)
}

// Ordered returns the stages in an order that respects their needs, and otherwise that of the file.
func (c *Config) Ordered() []strictyaml.Entry[Stage] {
	order := graph.New[string]()
	order.Add(c.Stages.Keys()...)
	for _, e := range c.Stages {
		for _, before := range e.Value.Needs {
			order.AddEdge(before, e.Key)
		}
	}
	names, err := order.Order()
	if err != nil {
		return c.Stages // Parse has refused cycles
	}
	out := make([]strictyaml.Entry[Stage], 0, len(names))
	for _, name := range names {
		out = append(out, c.Stages[slices.Index(c.Stages.Keys(), name)])
	}
	return out
}

// all reports whether a stage of deployer works on the clusters of all environments.
func (s Stage) all() bool { return s.Uses == Validate || s.Uses == Plan || s.Uses == Gate }

// ordered reports whether one of two stages needs the other, directly or not.
func (c *Config) ordered(a, b string) bool { return c.precedes(a, b) || c.precedes(b, a) }

// Parallel reports whether another stage may run at the same time as a stage.
func (c *Config) Parallel(stage string) bool {
	return slices.ContainsFunc(c.Stages, func(e strictyaml.Entry[Stage]) bool { return e.Key != stage && !c.ordered(stage, e.Key) })
}
