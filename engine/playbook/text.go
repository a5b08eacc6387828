package playbook

import (
	"gopkg.in/yaml.v3"

	"deployer/strictyaml"
)

// Text is one text of a playbook that may have templates.
type Text struct {
	Pos  strictyaml.Pos
	src  string
	text *Interpolation
	refs Refs
}

// text compiles a text; nil when there is none.
func (c *compiler) text(d *document, n *yaml.Node, what string) *Text {
	if n.Kind == 0 || n.ShortTag() == "!!null" {
		return nil
	}
	t := &Text{Pos: d.at(n), src: n.Value}
	if n.Kind != yaml.ScalarNode {
		c.fail(t.Pos.Errorf("%s: want a text", what))
		return nil
	}
	if !isTemplate(n.Value) {
		return t
	}
	text, err := compileText(n.Value, d.origin(n))
	if err != nil {
		c.fail(err)
		return nil
	}
	t.text, t.refs = text, text.refs
	return t
}

// Value renders the text. The caller has entered the scopes.
func (t *Text) Value(vars *Vars) (string, error) {
	if t.text == nil {
		return t.src, nil
	}
	return t.text.Text(vars.values)
}

// MayBe tells whether the text may be s on some host.
func (t *Text) MayBe(s string) bool { return t.text != nil || t.src == s }
