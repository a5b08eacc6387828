package playbook

import (
	"fmt"
	"reflect"
	"slices"
)

// checkEndPlay refuses a meta: end_play that not all hosts come to, or whose condition
// need not be the same on all of them: one host would decide for others that are
// somewhere else in the play. What is left is end_host on every host.
func (c *compiler) checkEndPlay(x taskContext, ends *Block) {
	for b := ends; b != nil; b = b.Parent {
		why := ""
		switch {
		case b.OnlyHosts != nil:
			why = "the loop around it has other items on other hosts"
		case b.Rescue > 0 && b.Always == 0:
			why = "only hosts on which something failed come to a rescue"
		}
		for _, e := range b.When {
			if name := c.varThatDiffers(x, b.Scopes, e.refs); name != "" {
				why = fmt.Sprintf("the condition %q looks at %s, which may differ from host to host", e.Src, name)
			}
		}
		if why != "" {
			c.fail(ends.Pos.Errorf("meta: end_play: %s; meta: end_host takes those hosts out for which it holds", why))
			return
		}
	}
}

// varThatDiffers is the name of a variable that may not be the same on all hosts of the
// play; empty when all are.
func (c *compiler) varThatDiffers(x taskContext, scopes []*Scope, refs Refs) string {
	refs, via := c.throughInventory(x, closure(scopes, refs))
	if refs.all {
		return "all variables"
	}
	for _, name := range refs.Names() {
		if c.mayDiffer(x, scopes, name) {
			if v := via[name]; v != nil {
				return fmt.Sprintf("%s (through the variable at %s)", name, v.Pos)
			}
			return name
		}
	}
	return ""
}

func (c *compiler) mayDiffer(x taskContext, scopes []*Scope, name string) bool {
	switch name {
	case "run", "groups", "hosts":
		return false
	case "host", "facts", itemVar, "result", "failure":
		return true
	}
	if _, extra := c.lib.Extra[name]; extra || c.isPrompted(name) || slices.Contains(c.lib.Promised, name) {
		return false
	}
	tasks := slices.Concat(c.allTasks(), x.state.handlers)
	if slices.ContainsFunc(tasks, func(t *Task) bool { return !t.RunOnce && slices.Contains(t.Defines(), name) }) {
		return true
	}
	for _, s := range scopes {
		if v := s.vars[name]; v != nil && v.perHost != nil {
			return true
		}
	}
	return !hiddenByScopes(scopes, name) && !c.sameInInventory(x, name)
}

// sameInInventory tells whether all hosts of the play have the same value of the
// inventory, or none.
func (c *compiler) sameInInventory(x taskContext, name string) bool {
	if c.lib.Vars == nil || c.lib.Match == nil {
		return false
	}
	hosts, _ := c.lib.Match(x.play.Hosts) // an error was said already
	for i := 1; i < len(hosts); i++ {
		a, hasA := c.lib.Vars(hosts[0])[name]
		b, hasB := c.lib.Vars(hosts[i])[name]
		if hasA != hasB || !reflect.DeepEqual(a, b) {
			return false
		}
	}
	return true
}
