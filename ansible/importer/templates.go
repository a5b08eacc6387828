package importer

import (
	"errors"
	"slices"
	"strings"
)

// templated reports whether a setting that must be a plain value holds Jinja, and
// notes it.
func (c *converter) templated(name string, v value) bool {
	if !hasJinja(v.v) {
		return false
	}
	c.note(v.at, describe(name, v.v), "an expression cannot stand here: write the value")
	return true
}

// translated translates the Jinja in a variable. When a text has no equivalent, it
// notes the variable and returns false.
func (c *converter) translated(name string, v value) (value, bool) {
	if !hasJinja(v.v) {
		return v, true
	}
	out, err := c.translate(v.v)
	if err != nil {
		c.note(v.at, describe(name, v.v), err.Error())
		return v, false
	}
	return value{scalar{out, v.remark}, v.at}, true
}

func (c *converter) translate(v any) (any, error) {
	switch t := v.(type) {
	case string:
		if !hasJinja(t) {
			return t, nil
		}
		if c.src.Translate == nil {
			return nil, errors.New("has a Jinja template: write the value")
		}
		return c.src.Translate(t)
	case []any:
		out := make([]any, len(t))
		for i, e := range t {
			var err error
			if out[i], err = c.translate(e); err != nil {
				return nil, err
			}
		}
		return out, nil
	case map[string]any:
		out := make(map[string]any, len(t))
		for k, e := range t {
			var err error
			if out[k], err = c.translate(e); err != nil {
				return nil, err
			}
		}
		return out, nil
	}
	return v, nil
}

func hasJinja(v any) bool {
	switch t := v.(type) {
	case string:
		return strings.Contains(t, "{{") || strings.Contains(t, "{%") || strings.Contains(t, "{#")
	case []any:
		return slices.ContainsFunc(t, hasJinja)
	case map[string]any:
		for _, e := range t {
			if hasJinja(e) {
				return true
			}
		}
	}
	return false
}
