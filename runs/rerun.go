package runs

import (
	"maps"
	"slices"

	"deployer/engine/journal"
	"deployer/project"
)

// rerun returns a run with the invocation of an earlier one. The variables of given are
// added to the recorded ones, its Forks, if set, replace the recorded value, and its LockHosts
// holds as the recorded one does.
func (c Runner) rerun(was journal.Invocation, given Options) (*Run, error) {
	o := given
	o.Invocation = was
	o.Inventory, o.Playbook = project.Relative(was.Inventory), project.Relative(was.Playbook)
	o.LockHosts = was.LockHosts || given.LockHosts
	o.Extra = mergeVars(was.Extra, given.Extra) // given must contain the withheld variables
	if given.Forks > 0 {
		o.Forks = given.Forks
	}
	return c.again(o)
}

// mergeVars returns the variables of both maps; over takes precedence.
func mergeVars(under, over map[string]any) map[string]any {
	out := map[string]any{}
	maps.Copy(out, under)
	maps.Copy(out, over)
	return out
}

// missingExtra returns the names that extra does not contain.
func missingExtra(names []string, extra map[string]any) []string {
	return slices.DeleteFunc(slices.Clone(names), func(name string) bool { _, ok := extra[name]; return ok })
}
