package compile

import "deployer/strictyaml"

// maxSize is the maximum number of operations of a program, with the includes, imports and uses of
// roles that lead to them. A few lines make any number: files that include the next one twice, or
// loops at includes within each other. A playbook of a revision that nobody has approved must not
// exhaust the machine that checks it. An install has some thousand.
const maxSize = 100_000

// maxItems is the maximum number of items of a loop at an include, of all hosts together.
const maxItems = 500_000

// tooLarge counts an include, an import or the use of a role at a place. It reports whether the
// program has become too large, after recording the error once.
func (c *compiler) tooLarge(pos strictyaml.Pos) bool {
	if c.size++; c.size > maxSize && !c.full {
		c.full = true
		c.fail(pos.Errorf("the playbook becomes too large here: with its includes, imports and roles it has more than %d steps; loop at tasks and not at includes, and include a file once", maxSize))
	}
	return c.size > maxSize
}
