package config

import (
	"slices"
	"strings"

	"deployer/engine/graph"
	"deployer/strictyaml"
)

func (c *Config) checkStages() (errs []error) {
	names := c.Stages.Keys()
	order := graph.New[string]()
	order.Add(names...)
	for _, e := range c.Stages {
		s := e.Value
		fail := func(format string, args ...any) {
			errs = append(errs, e.Pos.Errorf("stage "+e.Key+": "+format, args...))
		}
		if !nameShape.MatchString(e.Key) {
			fail("a name has letters, digits, spaces, dots and dashes")
		}
		switch _, known := c.Environments.Get(s.Environment); {
		case (s.Uses == "") == (len(s.Command) == 0):
			fail("name either uses or command")
		case s.Uses != "" && len(s.Artifacts) > 0:
			fail("artifacts are for commands; the stages of deployer keep theirs always")
		case s.Uses != "" && !slices.Equal(s.Outputs, s.possibleOutputs()) && len(s.Outputs) > 0:
			fail("outputs are for commands, and KUBECONFIG for deploy and verify")
		case (s.Uses == Deploy || s.Uses == Verify) && !known:
			fail("there is no environment %q%s", s.Environment, strictyaml.DidYouMean(s.Environment, c.Environments.Keys()))
		}
		for _, before := range s.Needs {
			if !slices.Contains(names, before) {
				fail("needs: there is no stage %q%s", before, strictyaml.DidYouMean(before, names))
				continue
			}
			order.AddEdge(before, e.Key)
		}
		for _, output := range s.Outputs {
			if !variableShape.MatchString(output) {
				fail("output %q: a name has letters, digits and _", output)
			}
		}
		for name, value := range s.Inputs {
			if !variableShape.MatchString(name) {
				fail("input %q: a name has letters, digits and _", name)
			}
			if stage, output, is := c.Reference(value); is {
				from, _ := c.Stages.Get(stage)
				switch {
				case !slices.Contains(from.Outputs, output):
					fail("input %s: stage %s has no output %q%s", name, stage, output, strictyaml.DidYouMean(output, from.Outputs))
				case !c.precedes(stage, e.Key):
					fail("input %s: stage %s does not run before this one; name it in needs", name, stage)
				}
			}
		}
	}
	if cycle := order.Cycle(); cycle != nil {
		pos := c.Stages[slices.Index(names, cycle[0])].Pos
		return append(errs, pos.Errorf("stages wait for each other: %s", strings.Join(append(cycle, cycle[0]), " -> ")))
	}
	return append(errs, c.checkParallel()...)
}

// checkParallel finds stages that work on the same environment and may run at the same time.
func (c *Config) checkParallel() (errs []error) {
	for i, e := range c.Stages {
		for _, other := range c.Stages[:i] {
			if s, o := e.Value, other.Value; s.Uses != "" && o.Uses != "" && (s.Environment == o.Environment || s.all() || o.all()) && !c.ordered(e.Key, other.Key) {
				errs = append(errs, e.Pos.Errorf("stage %s: it works on the same clusters as the stage %s and may run at the same time; let one of them need the other", e.Key, other.Key))
			}
		}
	}
	return errs
}

// possibleOutputs returns the outputs that a stage of deployer can have.
func (s Stage) possibleOutputs() []string {
	if s.Uses == Deploy || s.Uses == Verify {
		return []string{Kubeconfig}
	}
	return nil
}
