package playbook

import (
	"strings"

	"gopkg.in/yaml.v3"
)

// omitName is the function that leaves an argument out, as in
// {{ dig "item" "shell" omit . }}: the module then does as if it had not been said.
const omitName = "omit"

// omitMark is what the function gives.
const omitMark = "__omitted_argument__"

func omit() string { return omitMark }

// omitted tells whether an argument has come to nothing. A mark inside of a longer
// text is an error.
func (n *argNode) omitted(rendered *yaml.Node) (bool, error) {
	if n.tpl == nil || rendered.Kind != yaml.ScalarNode || !strings.Contains(rendered.Value, omitMark) {
		return false, nil
	}
	if rendered.Value != omitMark {
		return false, n.tpl.orig.start.Errorf("template %s: omit leaves a whole argument out, and cannot be a part of one", n.tpl.src)
	}
	return true, nil
}
