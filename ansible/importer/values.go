package importer

import (
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"gopkg.in/yaml.v3"
)

// reserved are the names of variables that belong to deployer.
var reservedVars = []string{"cluster", "host", "hosts", "groups", "facts", "run", "item", "result", "failure"}

// written returns a variable's value as the inventory can hold it, and notes what differs
// from the value in Ansible.
func (c *converter) written(name string, v value) any {
	if v.remark != "" {
		c.note(v.at, describe(name, v.v), v.remark)
	}
	var differences []string
	out := plainValue(v.v, &differences)
	slices.Sort(differences)
	for _, d := range slices.Compact(differences) {
		c.note(v.at, name, d)
	}
	return out
}

// plainValue replaces the values that variables of deployer cannot have.
func plainValue(v any, differences *[]string) any {
	differs := func(format string, args ...any) { *differences = append(*differences, fmt.Sprintf(format, args...)) }
	switch t := v.(type) {
	case float64:
		switch {
		case math.IsInf(t, 0) || math.IsNaN(t):
			differs("holds %v, which is no number here: it is a text", t)
			return fmt.Sprint(t)
		case t == math.Trunc(t) && math.Abs(t) < 1<<53:
			differs("%s is a whole number here, and prints without .0", floatText(t))
			return int(t)
		}
	case bigInt:
		differs("holds a number of more than 64 bits, which is a text here")
		return string(t)
	case unsafeText:
		if hasJinja(string(t)) {
			differs("is !unsafe: its braces are written as texts in templates")
			return literalBraces(string(t))
		}
		return string(t)
	case []any:
		out := make([]any, len(t))
		for i, e := range t {
			out[i] = plainValue(e, differences)
		}
		return out
	case map[string]any:
		out := make(map[string]any, len(t))
		for _, k := range slices.Sorted(maps.Keys(t)) {
			out[k] = plainValue(t[k], differences)
		}
		return out
	}
	return v
}

// literalBraces escapes the braces that would open a template.
func literalBraces(text string) string {
	return strings.NewReplacer("{{", "{{ '{{' }}", "{%", "{{ '{%' }}").Replace(text)
}

// floatText prints a float as Python and JSON do, so that it differs from a whole number.
func floatText(f float64) string {
	text, err := json.Marshal(f)
	if err != nil {
		return fmt.Sprint(f)
	}
	if !strings.ContainsAny(string(text), ".e") {
		return string(text) + ".0"
	}
	return string(text)
}

// marked marks a value as a secret by its tag, where it is one: switches such as
// require_password are none.
func (c *converter) marked(name string, v any, at string) any {
	switch v.(type) {
	case nil, bool:
		return v
	}
	why := "is marked !secret because of its name; `deployer secrets encrypt` encrypts such files"
	if !onlyTexts(v) {
		why += "; a secret is always a text, its numbers and booleans too"
	}
	c.note(at, name, why)
	return secret(v)
}

func onlyTexts(v any) bool {
	switch t := v.(type) {
	case string, nil:
		return true
	case []any:
		return !slices.ContainsFunc(t, func(e any) bool { return !onlyTexts(e) })
	case map[string]any:
		for _, e := range t {
			if !onlyTexts(e) {
				return false
			}
		}
		return true
	}
	return false
}

// secret tags a value with !secret, so that deployer withholds it from all output.
func secret(v any) *yaml.Node {
	n := encode(v)
	if n.Kind == yaml.ScalarNode {
		n.Tag, n.Style = "!secret", yaml.TaggedStyle|yaml.DoubleQuotedStyle
	} else {
		n.Tag, n.Style = "!secret", n.Style|yaml.TaggedStyle
	}
	return n
}
