package compile

import (
	"slices"

	"gopkg.in/yaml.v3"

	"deployer/engine/lang"
)

// compileScope compiles a mapping of variables of a layer; nil when there is none.
func (c *compiler) compileScope(d *lang.Document, n *yaml.Node, layer lang.Layer) *lang.Scope {
	if n == nil || n.Kind == 0 || n.ShortTag() == "!!null" {
		return nil
	}
	if n.Kind != yaml.MappingNode {
		c.fail(d.At(n).Errorf("variables must be a mapping of names to values"))
		c.lost(n)
		return nil
	}
	s := &lang.Scope{Layer: layer, Vars: map[string]*lang.Value{}}
	for i := 0; i+1 < len(n.Content); i += 2 {
		key := n.Content[i]
		if slices.Contains(lang.Reserved(), key.Value) {
			c.fail(d.At(key).Errorf("the variable %q belongs to the engine; choose another name", key.Value))
			continue
		}
		if s.Vars[key.Value] != nil {
			c.fail(d.At(key).Errorf("variable %q is given twice", key.Value))
			continue
		}
		value, err := lang.CompileValue(d, n.Content[i+1])
		if err != nil {
			c.fail(err)
			c.doubts.Names[key.Value] = true
			c.checkBelowUnknown(d, n.Content[i+1]) // to report everything that is wrong in it
			continue
		}
		s.Vars[key.Value] = value
		s.Names = append(s.Names, key.Value)
	}
	return s
}

// params compiles the parameters of a role or an include; nil when there are none.
func (c *compiler) params(d *lang.Document, n *yaml.Node) *lang.Scope {
	return c.compileScope(d, n, lang.Parameters)
}
