package strictyaml

import "gopkg.in/yaml.v3"

// Texts is a list of texts that may be written as a single text. Numbers and
// booleans are taken literally.
type Texts []string

// UnmarshalYAML reads a text or a list of texts.
func (t *Texts) UnmarshalYAML(n *yaml.Node) error {
	items := []*yaml.Node{n}
	if n.Kind == yaml.SequenceNode {
		items = n.Content
	}
	out := make(Texts, 0, len(items))
	for _, item := range items {
		if item.Kind != yaml.ScalarNode || item.ShortTag() == "!!null" {
			return At("", item).Errorf("want a text or a list of texts")
		}
		out = append(out, item.Value)
	}
	*t = out
	return nil
}

// YAMLSchema describes the type to Schema.
func (Texts) YAMLSchema() map[string]any {
	text := map[string]any{"type": []any{"string", "number", "boolean"}}
	return map[string]any{"oneOf": []any{map[string]any{"type": "string"}, map[string]any{"type": "array", "items": text}}}
}
