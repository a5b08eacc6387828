package hostcmd

import (
	"errors"
	"fmt"
	"strings"

	"gopkg.in/yaml.v3"
)

// Words is a program with its arguments. In a playbook it is a list, or a text
// that is split as a shell splits it; nothing in it is expanded, and no shell
// ever sees it.
type Words []string

// UnmarshalYAML takes a list or a text.
func (w *Words) UnmarshalYAML(n *yaml.Node) error {
	switch n.Kind {
	case yaml.ScalarNode:
		words, err := Split(n.Value)
		*w = words
		return err
	case yaml.SequenceNode:
		out := make(Words, len(n.Content))
		for i, item := range n.Content {
			if item.Kind != yaml.ScalarNode {
				return errors.New("want a list of texts")
			}
			out[i] = item.Value // as it is written, also when it looks like a number
		}
		*w = out
		return nil
	}
	return errors.New("want a command: a text, or a list of words")
}

// YAMLSchema describes it for references.
func (Words) YAMLSchema() map[string]any {
	return map[string]any{"oneOf": []any{
		map[string]any{"type": "string"},
		map[string]any{"type": "array", "items": map[string]any{"type": "string"}},
	}}
}

// Split cuts a line into words as a POSIX shell does: at blanks, with quotes
// and backslashes, and nothing else.
func Split(line string) ([]string, error) {
	var words []string
	var word strings.Builder
	within := false // a word has begun; it may be empty, as in ''
	rest := line
	for rest != "" {
		c := rest[0]
		rest = rest[1:]
		switch c {
		case ' ', '\t', '\n', '\r':
			if within {
				words = append(words, word.String())
				word.Reset()
			}
			within = false
			continue
		case '\'', '"':
			end, err := quoted(&word, c, rest)
			if err != nil {
				return nil, fmt.Errorf("%w in %s", err, line)
			}
			rest = rest[end:]
		case '\\':
			if rest == "" {
				return nil, fmt.Errorf("a backslash without anything after it in %s", line)
			}
			c, rest = rest[0], rest[1:]
			if c == '\n' { // the line goes on
				continue
			}
			word.WriteByte(c)
		default:
			word.WriteByte(c)
		}
		within = true
	}
	if within {
		words = append(words, word.String())
	}
	return words, nil
}

// quoted reads up to the closing quote and returns where it ends.
func quoted(word *strings.Builder, quote byte, rest string) (end int, err error) {
	for i := 0; i < len(rest); i++ {
		switch {
		case rest[i] == quote:
			return i + 1, nil
		case quote == '"' && rest[i] == '\\' && i+1 < len(rest) && strings.IndexByte("\"\\$`\n", rest[i+1]) >= 0:
			i++
			if rest[i] != '\n' {
				word.WriteByte(rest[i])
			}
		default:
			word.WriteByte(rest[i])
		}
	}
	return 0, fmt.Errorf("a quote %c that is not closed", quote)
}
