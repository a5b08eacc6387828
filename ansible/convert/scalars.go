package convert

import (
	"strings"

	"gopkg.in/yaml.v3"
)

// replace replaces the value of a scalar.
func (s *source) replace(n *yaml.Node, value string, flow bool) {
	end := s.end(n)
	if end < 0 {
		s.note(n, "write "+value)
		return
	}
	quoted := n.Style&(yaml.SingleQuotedStyle|yaml.DoubleQuotedStyle) != 0 && strings.Contains(value, "{{")
	s.change(s.start(n), end, written(value, flow, quoted))
}

// written prints a text as YAML: plain where that is safe and quoted is false, otherwise
// in the quotes that need no escapes.
func written(value string, flow, quoted bool) string {
	n := &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!str", Value: value}
	out, err := yaml.Marshal(n)
	text := strings.TrimSuffix(string(out), "\n")
	plain := !quoted && err == nil && text == value && !strings.HasPrefix(value, "{") && (!flow || !strings.ContainsAny(value, ",[]{}#"))
	switch {
	case plain:
		return value
	case !strings.Contains(value, "'") && !strings.ContainsAny(value, "\n\t"):
		return "'" + value + "'"
	case strings.ContainsAny(value, "\n\t") || !strings.Contains(value, `"`) && !strings.Contains(value, `\`):
		n.Style = yaml.DoubleQuotedStyle
		out, _ := yaml.Marshal(n)
		return strings.TrimSuffix(string(out), "\n")
	}
	return "'" + strings.ReplaceAll(value, "'", "''") + "'"
}

// condition translates an expression, or a list of expressions.
func (s *source) condition(n *yaml.Node, flow bool) {
	if n.Kind == yaml.SequenceNode {
		for _, item := range n.Content {
			s.condition(item, flow || n.Style&yaml.FlowStyle != 0)
		}
		return
	}
	if n.Kind != yaml.ScalarNode || n.ShortTag() != "!!str" {
		return
	}
	if truth, ok := truths[n.Value]; ok && n.Style == 0 {
		s.change(s.start(n), s.end(n), truth)
		return
	}
	out, notes, err := s.jinja.Condition(n.Value)
	if err != nil {
		s.note(n, n.Value+": "+err.Error())
		return
	}
	s.reportNotes(n, notes)
	if out != strings.TrimSpace(n.Value) {
		s.replace(n, out, flow)
	}
}

// expression translates an expression.
func (s *source) expression(n *yaml.Node, flow bool) {
	s.loop(n, flow, func(out string) string { return out })
}

// loop translates the list of a loop; around wraps the translated expression.
func (s *source) loop(n *yaml.Node, flow bool, around func(string) string) {
	if n.Kind != yaml.ScalarNode {
		s.value(n, flow)
		return
	}
	out, notes, err := s.jinja.Expression(n.Value)
	if err != nil {
		s.note(n, n.Value+": "+err.Error())
		return
	}
	s.reportNotes(n, notes)
	s.replace(n, around(out), flow)
}

// truths are the booleans of YAML 1.1, which Ansible reads, that are texts in YAML 1.2.
var truths = map[string]string{
	"yes": "true", "Yes": "true", "YES": "true", "on": "true", "On": "true", "ON": "true",
	"no": "false", "No": "false", "NO": "false", "off": "false", "Off": "false", "OFF": "false",
}

// value translates all texts in a value.
func (s *source) value(n *yaml.Node, flow bool) {
	flow = flow || n.Style&yaml.FlowStyle != 0
	for i, c := range n.Content {
		if n.Kind != yaml.MappingNode || i%2 == 1 {
			s.value(c, flow)
		}
	}
	if n.Kind != yaml.ScalarNode || n.ShortTag() != "!!str" {
		return
	}
	if truth, ok := truths[n.Value]; ok && n.Style == 0 {
		s.change(s.start(n), s.end(n), truth)
		return
	}
	if name, ok := strings.CutSuffix(n.Value, ".j2"); ok && !strings.ContainsAny(name, " \n{") {
		s.replace(n, name+".tmpl", flow) // convert renames template files
		return
	}
	if !strings.Contains(n.Value, "{{") && !strings.Contains(n.Value, "{%") {
		return
	}
	if n.Style&(yaml.LiteralStyle|yaml.FoldedStyle) != 0 {
		s.blockText(n)
		return
	}
	out, problems := s.jinja.PlaybookText(n.Value)
	s.report(n, problems)
	if out != n.Value {
		s.replace(n, out, flow)
	}
}

// blockText translates a block scalar in place.
func (s *source) blockText(n *yaml.Node) {
	from, end := s.lineEnd(s.start(n)), s.end(n)
	if end < from {
		return
	}
	s.change(from, end, s.translatedBlock(n))
}

// translatedBlock returns the lines of a block scalar, translated, with their indentation.
func (s *source) translatedBlock(n *yaml.Node) string {
	lines := strings.Split(string(s.data[s.lineEnd(s.start(n)):s.end(n)]), "\n")
	indent := ""
	for _, l := range lines {
		if strings.TrimSpace(l) != "" {
			indent = l[:len(l)-len(strings.TrimLeft(l, " "))]
			break
		}
	}
	for i, l := range lines {
		lines[i] = strings.TrimPrefix(l, indent)
	}
	out, problems := s.jinja.PlaybookText(strings.Join(lines, "\n"))
	for _, p := range problems {
		s.notes = append(s.notes, Note{n.Line + p.Line, 1, p.Error(), p.Differs})
	}
	lines = strings.Split(out, "\n")
	for i, l := range lines {
		if strings.TrimSpace(l) != "" {
			lines[i] = indent + l
		}
	}
	return strings.Join(lines, "\n")
}
