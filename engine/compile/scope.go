package compile

import (
	"slices"

	"gopkg.in/yaml.v3"

	"deployer/engine/lang"
)

// compileScope compiles a mapping of variables; nil when there is none.
func (c *compiler) compileScope(d *lang.Document, n *yaml.Node, isDefault bool) *lang.Scope {
	if n == nil || n.Kind == 0 || n.ShortTag() == "!!null" {
		return nil
	}
	if n.Kind != yaml.MappingNode {
		c.fail(d.At(n).Errorf("variables must be a mapping of names to values"))
		return nil
	}
	s := &lang.Scope{Default: isDefault, Vars: map[string]*lang.Value{}}
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
	s := c.compileScope(d, n, false)
	if s != nil {
		s.Param = true
	}
	return s
}
