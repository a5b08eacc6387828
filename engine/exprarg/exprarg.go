// Package exprarg has the types of task arguments that are expressions, such as the
// conditions of assert. The compiler compiles the expressions with the playbook, so that
// errors are found before any host is contacted; the controller evaluates them for each
// host, so that the agent needs no expression language.
package exprarg

import (
	"errors"

	"gopkg.in/yaml.v3"
)

// Errors of arguments that are not expressions.
var (
	errNotConditions = errors.New("want an expression, or a list of them")
	errNotExpression = errors.New("want an expression")
)

// Conditions are an expression or a list of expressions, as in `when`. The task
// receives the result of each one.
type Conditions []Verdict

// Verdict is the result of one condition.
type Verdict struct {
	Expression string `yaml:"expression" json:"expression"` // as written
	Place      string `yaml:"place" json:"place"`           // file:line:column
	Holds      bool   `yaml:"holds" json:"holds"`
	// Saw holds the values that the expression has read, as "name: value". Saw is empty for
	// a condition that holds.
	Saw []string `yaml:"saw,omitempty" json:"saw,omitempty"`
}

// UnmarshalYAML decodes the results that package taskargs has computed, or, before that,
// the expressions as written, without results.
func (c *Conditions) UnmarshalYAML(n *yaml.Node) error {
	items := n.Content
	if n.Kind == yaml.ScalarNode {
		items = []*yaml.Node{n}
	}
	if n.Kind == yaml.MappingNode || len(items) == 0 {
		return errNotConditions
	}
	out := make(Conditions, len(items))
	for i, item := range items {
		if item.Kind == yaml.ScalarNode {
			out[i].Expression = item.Value
			continue
		}
		if err := item.Decode(&out[i]); err != nil || out[i].Expression == "" {
			return errNotConditions
		}
	}
	*c = out
	return nil
}

// YAMLSchema returns the JSON schema of conditions for the reference.
func (Conditions) YAMLSchema() map[string]any {
	text := map[string]any{"type": []any{"string", "boolean"}}
	return map[string]any{"oneOf": []any{text, map[string]any{"type": "array", "minItems": 1, "items": text}}}
}

// Value is one expression and its result.
type Value struct {
	Expression string `yaml:"expression" json:"expression"` // as written
	Is         any    `yaml:"is" json:"is"`
}

// UnmarshalYAML decodes the result that package taskargs has computed, or, before that, the
// expression as written.
func (c *Value) UnmarshalYAML(n *yaml.Node) error {
	if n.Kind == yaml.ScalarNode {
		c.Expression = n.Value
		return nil
	}
	type plain Value
	if n.Kind != yaml.MappingNode || n.Decode((*plain)(c)) != nil || c.Expression == "" {
		return errNotExpression
	}
	return nil
}

// YAMLSchema returns the JSON schema of an expression for the reference.
func (Value) YAMLSchema() map[string]any { return map[string]any{"type": "string"} }
