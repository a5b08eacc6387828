package compile

import (
	"slices"

	"deployer/engine/compile/vet"
	"deployer/engine/program"
	"deployer/strictyaml"
)

// finish computes what needs all tasks: the variables that tasks and blocks read, and the
// tasks that give variables a value.
func (c *compiler) finish() {
	for _, t := range slices.Concat(c.prog.AllTasks(), c.doubts.Unreached) {
		t.CollectRefs()
	}
	c.prog.Definers = c.firstDefiners()
	for _, err := range vet.AnsibleNamesInTexts(c.prog, c.inventory()) {
		c.fail(err)
	}
	for _, op := range c.prog.Ops {
		switch op.Kind {
		case program.OpBlock:
			op.Block.CollectRefs()
		case program.OpEndHost:
			op.Ends.CollectRefs()
		}
	}
	c.checkHookVars()
}

// firstDefiners returns the place of the first task that gives each variable a value.
func (c *compiler) firstDefiners() map[string]strictyaml.Pos {
	out := map[string]strictyaml.Pos{}
	for _, t := range c.prog.AllTasks() {
		for _, name := range t.Defines() {
			if _, known := out[name]; !known {
				out[name] = t.Pos
			}
		}
	}
	return out
}

// inventory returns what the checks of package vet know of the hosts.
func (c *compiler) inventory() vet.Inventory {
	return vet.Inventory{Vars: c.lib.Vars, Match: c.lib.Match, RunHosts: c.lib.RunHosts, Promised: c.lib.Promised, Extra: c.lib.Extra}
}
