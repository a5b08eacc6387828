package compile

import (
	"deployer/engine/program"
	"deployer/strictyaml"
	"fmt"
)

// atOrAfterStart reports whether a task comes at or after the one that Library.StartAt
// names: what stands before is left out.
func (c *compiler) atOrAfterStart(t *program.Task) bool {
	if !c.started {
		shown := t.Role + ": " + t.Name // as views show it
		c.started = t.Name == c.lib.StartAt || shown == c.lib.StartAt
		c.passed = append(c.passed, t.Name)
	}
	return c.started
}

// checkStart reports a start that was never reached.
func (c *compiler) checkStart() {
	if !c.started {
		c.fail(fmt.Errorf("no task is called %q, to start at%s", c.lib.StartAt, strictyaml.Hint(c.lib.StartAt, c.passed)))
	}
}
