package dialect

import (
	"fmt"
	"strings"
)

// commentStyle is how a style of comments begins, continues and ends.
type commentStyle struct{ beginning, decoration, end string }

var commentStyles = map[string]commentStyle{
	"plain": {decoration: "# "}, "erlang": {decoration: "% "}, "c": {decoration: "// "},
	"cblock": {"/*", " * ", " */"}, "xml": {"<!--", " - ", "-->"},
}

// comment makes a comment of a text, with a line above and below it that only the
// decoration is on.
func comment(c *call) (any, error) {
	s, err := Print(c.value)
	if err != nil {
		return nil, err
	}
	name, err := c.text(0, "style", "plain")
	if err != nil {
		return nil, err
	}
	style, ok := commentStyles[name]
	if !ok {
		return nil, fmt.Errorf("style %q: want plain, c, cblock, erlang or xml", name)
	}
	if style.decoration, err = c.text(-1, "decoration", style.decoration); err != nil {
		return nil, err
	}
	edge := strings.TrimRight(style.decoration, " ")
	prefix, err := c.text(-1, "prefix", edge)
	if err != nil {
		return nil, err
	}
	postfix, err := c.text(-1, "postfix", edge)
	if err != nil {
		return nil, err
	}
	n := strings.Count(s, "\n") + 1
	if err := BoundText(len(s) + times(n, len(style.decoration)+len(edge))); err != nil {
		return nil, err
	}
	lines := strings.Split(s, "\n")
	for i, line := range lines {
		if line == "" && i < len(lines)-1 {
			lines[i] = edge
			continue
		}
		lines[i] = style.decoration + line
	}
	out := strings.Join(lines, "\n")
	if prefix != "" {
		out = strings.TrimSuffix(prefix, "\n") + "\n" + out
	}
	out += "\n" + postfix
	if style.beginning != "" {
		out = style.beginning + "\n" + out
	}
	if style.end != "" {
		out += "\n" + style.end
	}
	return out, nil
}
