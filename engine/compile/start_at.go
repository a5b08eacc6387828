package compile

import (
	"fmt"

	"deployer/engine/program"
	"deployer/strictyaml"
)

// atOrAfterStart reports whether a task comes at or after the task that Compiler.StartAt
// names.
func (c *compiler) atOrAfterStart(t *program.Task) bool {
	if !c.started {
		shown := t.Role + ": " + t.Name // as views show it
		c.started = t.Name == c.lib.StartAt || shown == c.lib.StartAt
		c.passed = append(c.passed, t.Name)
	}
	return c.started
}

// checkStart records an error when no task has the name of Compiler.StartAt.
func (c *compiler) checkStart() {
	if !c.started {
		c.fail(fmt.Errorf("no task is called %q, to start at%s", c.lib.StartAt, strictyaml.Hint(c.lib.StartAt, c.passed)))
	}
}
