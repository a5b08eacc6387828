package convert

import (
	"bytes"
	"cmp"
	"slices"
	"strings"
	"unicode/utf8"

	"gopkg.in/yaml.v3"

	"deployer/ansible/jinja"
)

// source is a file of YAML with the pending edits of its text.
type source struct {
	data  []byte
	lines []int // offsets at which lines begin
	edits []edit
	notes []Note
	taken map[*yaml.Node]bool // keys removed from mappings in braces
	jinja jinja.Translator
}

// edit replaces the bytes [from, to) by a text.
type edit struct {
	from, to int
	text     string
}

func newSource(data []byte, expressions jinja.Translator) *source {
	s := &source{data: data, lines: []int{0}, jinja: expressions}
	for i, c := range data {
		if c == '\n' {
			s.lines = append(s.lines, i+1)
		}
	}
	return s
}

func (s *source) note(n *yaml.Node, text string) {
	s.notes = append(s.notes, Note{n.Line, n.Column, text, false})
}

// differ records a translation that differs from Ansible.
func (s *source) differ(n *yaml.Node, text string) {
	s.notes = append(s.notes, Note{n.Line, n.Column, text, true})
}

// report records the problems of a text.
func (s *source) report(n *yaml.Node, problems []jinja.Problem) {
	for _, p := range problems {
		s.notes = append(s.notes, Note{n.Line, n.Column, p.Error(), p.Differs})
	}
}

// reportNotes records the differences of an expression.
func (s *source) reportNotes(n *yaml.Node, notes []string) {
	for _, note := range notes {
		s.differ(n, n.Value+": "+note)
	}
}

// start returns the offset at which a node begins. Columns of yaml.v3 count characters.
func (s *source) start(n *yaml.Node) int {
	at := s.lines[min(n.Line, len(s.lines))-1]
	for range n.Column - 1 {
		_, size := utf8.DecodeRune(s.data[at:])
		at += size
	}
	return at
}

// line returns the number of the line, from 0, that contains an offset.
func (s *source) line(at int) int {
	i, found := slices.BinarySearch(s.lines, at)
	if !found {
		i--
	}
	return i
}

// lineEnd returns the offset behind the line, with its line feed, that contains an
// offset.
func (s *source) lineEnd(at int) int {
	if i := s.line(at) + 1; i < len(s.lines) {
		return s.lines[i]
	}
	return len(s.data)
}

// end returns the offset behind a scalar, or -1 when it cannot be determined.
func (s *source) end(n *yaml.Node) int {
	at := s.start(n)
	switch {
	case n.Anchor != "" || n.Style&yaml.TaggedStyle != 0 || n.Kind != yaml.ScalarNode:
		return -1
	case n.Style&(yaml.LiteralStyle|yaml.FoldedStyle) != 0:
		return s.blockEnd(n)
	case n.Style&(yaml.SingleQuotedStyle|yaml.DoubleQuotedStyle) != 0:
		return s.quoteEnd(at)
	}
	for _, word := range strings.Fields(n.Value) {
		for at < len(s.data) && (s.data[at] == ' ' || s.data[at] == '\n' || s.data[at] == '\t' || s.data[at] == '\r') {
			at++
		}
		if !bytes.HasPrefix(s.data[at:], []byte(word)) {
			return -1
		}
		at += len(word)
	}
	return at
}

func (s *source) quoteEnd(at int) int {
	quote := s.data[at]
	for i := at + 1; i < len(s.data); i++ {
		switch {
		case quote == '"' && s.data[i] == '\\':
			i++
		case s.data[i] != quote:
		case quote == '\'' && i+1 < len(s.data) && s.data[i+1] == '\'':
			i++
		default:
			return i + 1
		}
	}
	return -1
}

// blockEnd returns the offset behind the lines of a block scalar (| or >), without the
// last line feed. The first line that is indented less ends the scalar.
func (s *source) blockEnd(n *yaml.Node) int {
	end, indent := s.lineEnd(s.start(n)), -1
	for at := end; at < len(s.data); at = s.lineEnd(at) {
		line := s.data[at:s.lineEnd(at)]
		text := bytes.TrimLeft(line, " ")
		if len(bytes.TrimSpace(text)) == 0 {
			continue
		}
		deep := len(line) - len(text)
		if indent < 0 {
			indent = deep
		}
		if deep < indent || deep == 0 {
			break
		}
		end = at + len(line)
	}
	return bytes.LastIndexByte(s.data[:end], '\n')
}

func (s *source) change(from, to int, text string) {
	if from >= 0 && to >= from && string(s.data[from:to]) != text {
		s.edits = append(s.edits, edit{from, to, text})
	}
}

// rename replaces a key.
func (s *source) rename(key *yaml.Node, to string) {
	if end := s.end(key); end > 0 {
		s.change(s.start(key), end, to)
	}
}

// last returns the offset behind the last scalar in a node, or -1.
func (s *source) last(n *yaml.Node) int {
	for n.Kind != yaml.ScalarNode && len(n.Content) > 0 && n.Style&yaml.FlowStyle == 0 {
		n = n.Content[len(n.Content)-1]
	}
	if n.Kind == yaml.ScalarNode {
		return s.end(n)
	}
	return -1
}

// remove removes a key with its value from a mapping. remove returns false when they do not
// have lines of their own.
func (s *source) remove(key, value *yaml.Node) bool {
	from, end := s.start(key), s.last(value)
	begin := s.lines[s.line(from)]
	if end < 0 || strings.TrimSpace(string(s.data[begin:from])) != "" {
		return false
	}
	s.change(begin, s.lineEnd(end), "")
	return true
}

// result returns the text with all edits applied.
func (s *source) result() []byte {
	slices.SortStableFunc(s.edits, func(a, b edit) int { return cmp.Compare(a.from, b.from) })
	var out bytes.Buffer
	last := 0
	for _, e := range s.edits {
		if e.from < last {
			continue // it lies inside of a replaced part
		}
		out.Write(s.data[last:e.from])
		out.WriteString(e.text)
		last = e.to
	}
	out.Write(s.data[last:])
	return out.Bytes()
}
