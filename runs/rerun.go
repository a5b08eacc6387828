package runs

import (
	"fmt"
	"maps"
	"slices"

	"deployer/engine/journal"
	"deployer/project"
)

// rerun makes ready a run like an earlier one, with what is given anew: variables
// beside those that were written down, and how many hosts at one time.
func (c Runner) rerun(was journal.Invocation, given Options) (*Run, error) {
	o := given
	o.Invocation = was
	o.Inventory, o.Playbook = project.Relative(was.Inventory), project.Relative(was.Playbook)
	o.Extra = mergeVars(was.Extra, given.Extra) // those withheld are to be among the given
	if given.Forks > 0 {
		o.Forks = given.Forks
	}
	return c.byVerb(o)
}

// byVerb makes ready a run of what the options' verb says.
func (c Runner) byVerb(o Options) (*Run, error) {
	switch o.Verb {
	case verbInstall:
		return c.Install(o)
	case verbRun:
		return c.Playbook(o)
	}
	return nil, fmt.Errorf("a run of deployer %s cannot be repeated from its log", o.Verb)
}

// mergeVars are variables, those of over above those of under.
func mergeVars(under, over map[string]any) map[string]any {
	out := map[string]any{}
	maps.Copy(out, under)
	maps.Copy(out, over)
	return out
}

// missingExtra are the variables that are not there.
func missingExtra(names []string, extra map[string]any) []string {
	return slices.DeleteFunc(slices.Clone(names), func(name string) bool { _, ok := extra[name]; return ok })
}
