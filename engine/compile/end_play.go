package compile

import (
	"fmt"
	"reflect"
	"slices"

	"deployer/engine/lang"
	"deployer/engine/program"
)

// checkEndPlay records an error for a meta: end_play that not all hosts reach, or whose
// condition may differ between hosts: one host would decide for hosts that are elsewhere in
// the play.
func (c *compiler) checkEndPlay(x taskContext, ends *program.Block) {
	for b := ends; b != nil; b = b.Parent {
		why := ""
		switch {
		case b.OnlyHosts != nil:
			why = "the loop around it has other items on other hosts"
		case b.Rescue > 0 && b.Always == 0:
			why = "only hosts on which something failed come to a rescue"
		}
		for _, e := range b.When {
			if name := c.varThatDiffers(x, b.Scopes, e.Refs()); name != "" {
				why = fmt.Sprintf("the condition %q reads %s, which may differ from host to host", e.Src, name)
			}
		}
		if why != "" {
			c.fail(ends.Pos.Errorf("meta: end_play: %s; use meta: end_host, which ends the play on each host where its condition holds", why))
			return
		}
	}
}

// varThatDiffers returns a variable that may have different values on hosts of the play;
// empty when there is none.
func (c *compiler) varThatDiffers(x taskContext, scopes []*lang.Scope, refs lang.Refs) string {
	refs, via := c.throughInventory(x, lang.Closure(scopes, refs))
	if refs.All() {
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

func (c *compiler) mayDiffer(x taskContext, scopes []*lang.Scope, name string) bool {
	switch name {
	case "run", "groups", "hosts":
		return false
	case "host", "facts", lang.ItemVar, "result", "failure":
		return true
	}
	if _, extra := c.lib.Extra[name]; extra || c.prog.IsPrompted(name) || slices.Contains(c.lib.Promised, name) {
		return false
	}
	tasks := slices.Concat(c.prog.AllTasks(), x.state.handlers)
	if slices.ContainsFunc(tasks, func(t *program.Task) bool { return !t.RunOnce && slices.Contains(t.Defines(), name) }) {
		return true
	}
	for _, s := range scopes {
		if v := s.Vars[name]; v != nil && v.IsPerHost() {
			return true
		}
	}
	return !lang.HiddenByScopes(scopes, name) && !c.sameInInventory(x, name)
}

// sameInInventory reports whether all hosts of the play have the same value in the
// inventory, or none.
func (c *compiler) sameInInventory(x taskContext, name string) bool {
	if c.lib.Vars == nil || c.lib.Match == nil {
		return false
	}
	hosts, _ := c.lib.Match(x.play.Hosts) // play has reported the error
	for i := 1; i < len(hosts); i++ {
		a, hasA := c.lib.Vars(hosts[0])[name]
		b, hasB := c.lib.Vars(hosts[i])[name]
		if hasA != hasB || !reflect.DeepEqual(a, b) {
			return false
		}
	}
	return true
}
