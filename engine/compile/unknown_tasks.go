package compile

import (
	"slices"
	"strings"

	"gopkg.in/yaml.v3"

	"deployer/engine/lang"
)

// ansibleKeywords are keywords of Ansible that have another name here, beside the modules
// of Compiler.Renamed. The content below such a keyword is checked as well, so that one
// compilation reports everything that must change.
var ansibleKeywords = map[string]string{
	"import_tasks": "include_tasks", "include": "include_tasks", "import_role": "include_role", "with_items": "loop", "with_list": "loop",
	"set_fact": "set",
}

// deployerWord returns the keyword or module here that a word of Ansible stands for; empty
// when there is none.
func (c *compiler) deployerWord(word string, keywords []string) string {
	bare := word
	if parts := strings.Split(word, "."); len(parts) == 3 {
		bare = parts[2]
	}
	ours := bare
	if other, ok := ansibleKeywords[bare]; ok {
		ours = other
	} else if other, ok := c.lib.Renamed[bare]; ok {
		ours = other
	}
	_, module := c.lib.Registry[ours]
	if ours == word || !module && !slices.Contains(keywords, ours) {
		return ""
	}
	return ours
}

// checkBelowUnknown checks the content of an unknown key: its texts and expressions are
// usually Jinja and have to change, too.
func (c *compiler) checkBelowUnknown(d *lang.Document, value *yaml.Node) {
	if value.Kind == yaml.ScalarNode {
		_, err := lang.CompileValue(d, value)
		c.fail(err)
		return
	}
	for i, n := range value.Content {
		if value.Kind != yaml.MappingNode || i%2 == 1 {
			c.checkBelowUnknown(d, n)
		}
	}
}

// checkUnknownTask checks the keywords of a task whose module is unknown.
func (c *compiler) checkUnknownTask(d *lang.Document, raw *rawTask) {
	for _, n := range []*yaml.Node{&raw.When, &raw.ChangedWhen, &raw.FailedWhen, &raw.Until} {
		c.conditions(d, n, "condition")
	}
	if raw.Loop.Kind != 0 {
		c.compileLoop(d, &raw.Loop)
	}
	c.compileScope(d, &raw.Vars, lang.TaskVars)
}
