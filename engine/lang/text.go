package lang

import (
	"gopkg.in/yaml.v3"

	"deployer/strictyaml"
)

// Text is a scalar of a playbook: a constant, or a text with {{ }}.
type Text struct {
	Pos strictyaml.Pos
	src string
	// compiled is nil for a constant.
	compiled *Interpolation
}

// ConstantText returns a text that is s on every host.
func ConstantText(pos strictyaml.Pos, s string) *Text { return &Text{Pos: pos, src: s} }

// CompileText compiles the scalar n of a document.
func CompileText(d *Document, n *yaml.Node) (*Text, error) {
	t := &Text{Pos: d.At(n), src: n.Value}
	if !IsTemplate(n.Value) {
		return t, nil
	}
	var err error
	t.compiled, err = CompileInterpolation(n.Value, d.Origin(n))
	return t, err
}

// Constant returns the text when it is the same on every host; else ok is false.
func (t *Text) Constant() (s string, ok bool) { return t.src, t.compiled == nil }

// Refs returns the variables that the text reads.
func (t *Text) Refs() Refs {
	if t.compiled == nil {
		return Refs{}
	}
	return t.compiled.refs
}

// DefiniteUses returns the variables that the text reads on every host.
func (t *Text) DefiniteUses() []VarUse {
	if t.compiled == nil {
		return nil
	}
	return t.compiled.definite
}

// Value renders the text. The caller has pushed the scopes.
func (t *Text) Value(vars *Vars) (string, error) {
	if t.compiled == nil {
		return t.src, nil
	}
	return t.compiled.Text(vars.values)
}

// MayBe reports whether the text may be s on some host.
func (t *Text) MayBe(s string) bool { return t.compiled != nil || t.src == s }
