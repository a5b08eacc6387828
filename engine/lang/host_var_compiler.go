package lang

import (
	"maps"
	"slices"

	"deployer/jsontypes"
	"deployer/strictyaml"
)

// HostVarCompiler compiles variables of an inventory whose texts contain {{ }}: with
// NewVars, such a variable is evaluated when a task reads it, with the variables of
// that task. A value that one place of a file gives to many hosts is compiled once. A
// HostVarCompiler is not safe for concurrent use.
type HostVarCompiler struct {
	// Lookups decides about the lookups in variables.
	Lookups *Lookups

	compiled map[strictyaml.Pos]*Value
}

// NewHostVarCompiler returns an empty HostVarCompiler.
func NewHostVarCompiler() *HostVarCompiler {
	return &HostVarCompiler{compiled: map[strictyaml.Pos]*Value{}}
}

// Compile returns the value as NewVars accepts it; a value without {{ }} stays as it
// is. at returns its place. An expression that does not compile is an error.
func (c *HostVarCompiler) Compile(value any, at func() strictyaml.Pos) (any, error) {
	if !hasTemplate(value) {
		return value, nil
	}
	pos := at()
	if v := c.compiled[pos]; v != nil {
		return v, nil
	}
	v, err := c.compile(value, pos)
	if err != nil {
		return nil, err
	}
	c.compiled[pos] = v
	return v, nil
}

func (c *HostVarCompiler) compile(value any, pos strictyaml.Pos) (*Value, error) {
	v := &Value{Pos: pos}
	if !hasTemplate(value) {
		v.isConstant, v.constant = true, jsontypes.Normalize(value)
		return v, nil
	}
	var err error
	switch t := value.(type) {
	case map[string]any:
		v.isMap, v.keys = true, slices.Sorted(maps.Keys(t))
		for _, key := range v.keys {
			err = strictyaml.Join(err, c.child(v, t[key]))
		}
	case []any:
		for _, e := range t {
			err = strictyaml.Join(err, c.child(v, e))
		}
	case string:
		if v.text, err = CompileInterpolation(t, Origin{Start: pos, lookups: c.Lookups}); err == nil {
			v.refs = v.text.refs
		}
	}
	return v, err
}

func (c *HostVarCompiler) child(v *Value, value any) error {
	e, err := c.compile(value, v.Pos)
	if err != nil {
		return err
	}
	v.list = append(v.list, e)
	v.refs.Merge(e.refs)
	return nil
}

// hasTemplate reports whether a text in the value contains expressions.
func hasTemplate(value any) bool {
	switch t := value.(type) {
	case string:
		return IsTemplate(t)
	case []any:
		return slices.ContainsFunc(t, hasTemplate)
	case map[string]any:
		for _, e := range t {
			if hasTemplate(e) {
				return true
			}
		}
	}
	return false
}
