package inventory

import (
	"fmt"
	"regexp"
	"strings"

	"gopkg.in/yaml.v3"

	"deployer/strictyaml"
)

// nameList is a list of names, ranges and groups: a YAML list, or a text with commas
// (YAML requires quotes around n[1:3] inside [ ], not outside).
type nameList []nameRef

type nameRef struct {
	text string
	pos  strictyaml.Pos
}

func (l *nameList) UnmarshalYAML(n *yaml.Node) error {
	items := []*yaml.Node{n}
	switch n.Kind {
	case yaml.SequenceNode:
		items = n.Content
	case yaml.MappingNode:
		return strictyaml.At("", n).Errorf("want a list of names, got a mapping")
	}
	*l = nil
	for _, item := range items {
		if item.Kind != yaml.ScalarNode || item.ShortTag() == "!!null" {
			return strictyaml.At("", item).Errorf("want a name here")
		}
		for _, text := range splitOutside(item.Value, ",") {
			if text = strings.TrimSpace(text); text != "" {
				*l = append(*l, nameRef{text, strictyaml.At("", item)})
			}
		}
	}
	return nil
}

// YAMLSchema describes the type to strictyaml.Schema.
func (nameList) YAMLSchema() map[string]any {
	text := map[string]any{"type": "string"}
	return map[string]any{"oneOf": []any{map[string]any{"type": "array", "items": text}, text}}
}

// splitOutside splits at separators outside of brackets.
func splitOutside(s, separators string) []string {
	var out []string
	depth, start := 0, 0
	for i, r := range s {
		switch {
		case r == '[':
			depth++
		case r == ']':
			depth--
		case depth <= 0 && strings.ContainsRune(separators, r):
			out = append(out, s[start:i])
			start = i + len(string(r))
		}
	}
	return append(out, s[start:])
}

// taint is a node taint in Kubernetes' notation.
type taint string

var taintShape = regexp.MustCompile(`^[A-Za-z0-9][-A-Za-z0-9_./]*(=[-A-Za-z0-9_.]*)?:(NoSchedule|PreferNoSchedule|NoExecute)$`)

func (t *taint) UnmarshalYAML(n *yaml.Node) error {
	if n.Kind != yaml.ScalarNode || !taintShape.MatchString(n.Value) {
		return fmt.Errorf("want a taint as key=value:Effect, where Effect is NoSchedule, PreferNoSchedule or NoExecute, got %q", n.Value)
	}
	*t = taint(n.Value)
	return nil
}

// YAMLSchema describes the type to strictyaml.Schema.
func (taint) YAMLSchema() map[string]any {
	return map[string]any{"type": "string", "pattern": taintShape.String()}
}

// id returns the part that must be unique among the taints of a node: key and effect.
func (t taint) id() string {
	key, effect, _ := strings.Cut(string(t), ":")
	key, _, _ = strings.Cut(key, "=")
	return key + ":" + effect
}
