package compile

import (
	"gopkg.in/yaml.v3"

	"deployer/engine/lang"
)

// text compiles the scalar n; nil when there is none.
func (c *compiler) text(d *lang.Document, n *yaml.Node, what string) *lang.Text {
	if n.Kind == 0 || n.ShortTag() == "!!null" {
		return nil
	}
	if n.Kind != yaml.ScalarNode {
		c.fail(d.At(n).Errorf("%s: want a text", what))
		return nil
	}
	t, err := lang.CompileText(d, n)
	if err != nil {
		c.fail(err)
		return nil
	}
	return t
}
