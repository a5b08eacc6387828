package playbook

import (
	"strings"

	"gopkg.in/yaml.v3"
)

// omitName is the name that leaves an argument out, as in
// {{ item.shell | default(omit) }}: the module then does as if it had not been said.
const omitName = "omit"

// omitMark is its value.
const omitMark = "__omitted_argument__"

// omitted tells whether an argument has come to nothing. A mark inside of a longer
// text is an error.
func (n *argNode) omitted(rendered *yaml.Node) (bool, error) {
	if n.text == nil || rendered.Kind != yaml.ScalarNode || !strings.Contains(rendered.Value, omitMark) {
		return false, nil
	}
	if rendered.Value != omitMark {
		return false, n.text.orig.start.Errorf("template %s: omit leaves a whole argument out, and cannot be a part of one", n.text.src)
	}
	return true, nil
}
