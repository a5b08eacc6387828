package compile

import (
	"fmt"
	"maps"
	"slices"

	"deployer/strictyaml"
)

// selected applies Tags and SkipTags to the tags of a task.
func (c *compiler) selected(tags []string) bool {
	for _, t := range tags {
		c.knownTags[t] = true
	}
	has := func(t string) bool { return slices.Contains(tags, t) }
	if slices.ContainsFunc(c.lib.SkipTags, has) {
		return false
	}
	if slices.ContainsFunc(c.lib.Tags, has) {
		return true
	}
	if has("never") {
		return false
	}
	return len(c.lib.Tags) == 0 || has("always")
}

// checkTags records an error for each selected tag that no task has: a misspelt tag would
// make a run that does nothing, or that does what it should skip.
func (c *compiler) checkTags() {
	c.knownTags["always"], c.knownTags["never"] = true, true
	for flag, tags := range map[string][]string{"tags": c.lib.Tags, "skip-tags": c.lib.SkipTags} {
		for _, t := range tags {
			if !c.knownTags[t] {
				c.fail(fmt.Errorf("--%s: no task has the tag %q%s", flag, t, strictyaml.Hint(t, slices.Sorted(maps.Keys(c.knownTags)))))
			}
		}
	}
}
