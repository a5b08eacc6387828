package hostcmd

import (
	"errors"

	"gopkg.in/yaml.v3"

	"deployer/shellquote"
)

// Words is a program with its arguments. In a playbook it is a list, or a text
// that is split as a shell splits it; nothing in it is expanded, and no shell
// ever sees it.
type Words []string

// UnmarshalYAML decodes a list or a text.
func (w *Words) UnmarshalYAML(n *yaml.Node) error {
	switch n.Kind {
	case yaml.ScalarNode:
		words, err := shellquote.Split(n.Value)
		*w = words
		return err
	case yaml.SequenceNode:
		out := make(Words, len(n.Content))
		for i, item := range n.Content {
			if item.Kind != yaml.ScalarNode {
				return errors.New("want a list of texts")
			}
			out[i] = item.Value // the text as written, also when it looks like a number
		}
		*w = out
		return nil
	}
	return errors.New("want a command: a text, or a list of words")
}

// YAMLSchema returns the schema of Words for references.
func (Words) YAMLSchema() map[string]any {
	return map[string]any{"oneOf": []any{
		map[string]any{"type": "string"},
		map[string]any{"type": "array", "items": map[string]any{"type": "string"}},
	}}
}
