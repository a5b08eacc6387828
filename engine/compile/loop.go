package compile

import (
	"cmp"
	"slices"
	"strings"

	"gopkg.in/yaml.v3"

	"deployer/engine/lang"
	"deployer/engine/program"
)

// rawLoopControl holds the names of a loop's variables and the label of its items.
type rawLoopControl struct {
	Label    yaml.Node `yaml:"label"`
	IndexVar string    `yaml:"index_var"`
	LoopVar  string    `yaml:"loop_var"`
}

// loopOf compiles the loop of a task; nil when it has none.
func (c *compiler) loopOf(x taskContext, raw *rawTask) *program.Loop {
	d := x.doc
	if raw.Loop.Kind == 0 {
		if key := raw.set["loop_control"]; key != nil {
			c.fail(d.At(key).Errorf("loop_control needs a loop"))
		}
		return nil
	}
	l := c.compileLoop(d, &raw.Loop)
	if l == nil {
		return nil
	}
	l.Var, l.IndexVar = cmp.Or(raw.LoopControl.LoopVar, lang.ItemVar), raw.LoopControl.IndexVar
	l.Label = c.text(d, &raw.LoopControl.Label, "label")
	control := lang.MappingValue(raw.node, "loop_control")
	for key, name := range map[string]string{"loop_var": raw.LoopControl.LoopVar, "index_var": l.IndexVar} {
		if slices.Contains(lang.Reserved(), name) && (key != "loop_var" || name != lang.ItemVar) {
			c.fail(d.KeyPos(control, key).Errorf("the variable %q belongs to the engine; choose another name", name))
		}
	}
	if l.Var == l.IndexVar && l.IndexVar != lang.ItemVar {
		c.fail(d.KeyPos(control, "index_var").Errorf("loop_var and index_var are the same"))
	}
	for _, name := range []string{l.Var, l.IndexVar} {
		if outer, taken := x.loops[name]; taken && name != "" {
			c.fail(l.Pos.Errorf("the loop of the include at %s has %q already; choose another name for the item: loop_control: {loop_var: NAME}", outer, name))
		}
	}
	return l
}

func (c *compiler) compileLoop(d *lang.Document, n *yaml.Node) *program.Loop {
	l := &program.Loop{Pos: d.At(n)}
	switch n.Kind {
	case yaml.SequenceNode:
		v, err := lang.CompileValue(d, n)
		if err != nil {
			c.fail(err)
			return nil
		}
		l.List, l.Refs = v, v.Refs()
	case yaml.ScalarNode:
		if strings.Contains(n.Value, "{{") {
			c.fail(l.Pos.Errorf("loop: want an expression without {{ }}%s", lang.ValueAdvice(n.Value)))
			return nil
		}
		e, err := lang.CompileExpr(n.Value, d.Origin(n))
		if err != nil {
			c.fail(err)
			return nil
		}
		l.Expr, l.Refs = e, e.Refs()
	default:
		c.fail(l.Pos.Errorf("loop: want a list, or an expression that gives one"))
		return nil
	}
	return l
}
