package redact

import "strings"

// wrapped finds forms of Base64 that are broken into lines, as base64(1), PEM and
// YAML have them. Lines may be indented, and begin with the sign of a diff.
func (s *Set) wrapped(text string) []span {
	if !strings.Contains(text, "\n") {
		return nil
	}
	out := s.joined(text, false)
	for _, sign := range []string{"\n+", "\n-"} {
		if strings.Contains("\n"+text, sign) {
			return append(out, s.joined(text, true)...)
		}
	}
	return out
}

// joined finds forms in a text without its line ends and the indentation of lines,
// of a diff also without the sign before that.
func (s *Set) joined(text string, diff bool) []span {
	var b strings.Builder
	places := make([]int, 0, len(text)) // in text, of each byte of what is joined
	begins := true
	for i := range len(text) {
		first := i == 0 || text[i-1] == '\n'
		switch c := text[i]; {
		case c == '\n':
			begins = true
		case c == '\r', begins && (c == ' ' || c == '\t'), diff && first && (c == '+' || c == '-'):
		default:
			begins = false
			b.WriteByte(c)
			places = append(places, i)
		}
	}
	line := b.String()
	var out []span
	for i := 0; i+shortest <= len(line); i++ {
		for _, f := range s.heads.at(line, i) {
			if !f.run || !strings.HasPrefix(line[i:], f.text) {
				continue
			}
			if from, to := places[i], places[i+len(f.text)-1]+1; strings.Contains(text[from:to], "\n") {
				out = append(out, form{text: text[from:to], run: true}.span(text, from))
			}
			break
		}
	}
	return out
}
