package compile

import (
	"gopkg.in/yaml.v3"

	"deployer/engine/lang"
	"deployer/engine/program"
)

// environment compiles a mapping of environment variables, or an expression that gives one;
// nil when there is none.
func (c *compiler) environment(d *lang.Document, n *yaml.Node) *lang.Value {
	if n.Kind == 0 || n.ShortTag() == "!!null" {
		return nil
	}
	if n.Kind != yaml.MappingNode && (n.Kind != yaml.ScalarNode || !lang.IsTemplate(n.Value)) {
		c.fail(d.At(n).Errorf("environment: want a mapping of names to texts"))
		return nil
	}
	for i := 0; n.Kind == yaml.MappingNode && i < len(n.Content); i += 2 {
		if name := n.Content[i].Value; !program.ValidEnvName(name) {
			c.fail(d.At(n.Content[i]).Errorf("environment: %q cannot be the name of a variable", name))
		}
	}
	v, err := lang.CompileValue(d, n)
	c.fail(err)
	return v
}
