package taskargs

import (
	"strings"

	"gopkg.in/yaml.v3"

	"deployer/engine/lang"
)

// omitted reports whether an argument has become the mark of omit. A mark inside of a
// longer text is an error.
func (n *argNode) omitted(rendered *yaml.Node) (bool, error) {
	if n.text == nil || rendered.Kind != yaml.ScalarNode || !strings.Contains(rendered.Value, lang.OmitMark) {
		return false, nil
	}
	if rendered.Value != lang.OmitMark {
		return false, n.text.Pos().Errorf("template %s: omit must be the whole argument", n.text.Source())
	}
	return true, nil
}
