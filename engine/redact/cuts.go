package redact

import (
	"strings"
	"unicode/utf8"
)

// shortestAtEnd is the length in bytes from which a part of a form is replaced at
// the end or the beginning of a text that has no mark there.
const shortestAtEnd = 8

// Limits of the search around cuts: the number of cuts of one text, and the number of bytes
// on each side of a cut. A host may send a text that consists of marks only.
const (
	mostCuts  = 200
	mostAtCut = 16 << 10
)

// cut finds parts of forms at places where the text was cut.
func (s *Set) cut(text string) []span {
	var out []span
	if part, ok := s.endingAt(text, len(text), shortestAtEnd); ok {
		out = append(out, part)
	}
	if part, ok := s.beginningAt(text, 0, shortestAtEnd); ok {
		out = append(out, part)
	}
	from := 0
	for range mostCuts {
		at := strings.Index(text[from:], "...")
		if at < 0 {
			break
		}
		at += from
		from = at + len("...")
		// The agent's mark is a line: [... 12 bytes left out ...]
		end := strings.TrimSuffix(strings.TrimSuffix(text[:at], "["), "\n")
		if part, ok := s.endingAt(text, len(end), shortest); ok {
			out = append(out, part)
		}
		begin := strings.TrimPrefix(strings.TrimPrefix(text[from:], "]"), "\n")
		if part, ok := s.beginningAt(text, len(text)-len(begin), shortest); ok {
			out = append(out, part)
		}
	}
	return out
}

// endingAt finds the longest beginning of a form that ends at a place of a text. A
// character that was cut in two is passed over.
func (s *Set) endingAt(text string, end, least int) (span, bool) {
	left := strings.TrimRight(text[:end], string(utf8.RuneError))
	for i := max(0, len(left)-min(s.most, mostAtCut)); i+least <= len(left); i++ {
		for _, f := range s.heads.at(left, i) {
			if strings.HasPrefix(f.text, left[i:]) {
				return span{form{text: left[i:], run: f.run}.span(left, i).from, end}, true
			}
		}
	}
	return span{}, false
}

// beginningAt finds the longest end of a form that begins at a place of a text.
func (s *Set) beginningAt(text string, begin, least int) (span, bool) {
	right := strings.TrimLeft(text[begin:], string(utf8.RuneError))
	skipped := len(text) - begin - len(right)
	for n := min(len(right), s.most, mostAtCut); n >= least; n-- {
		for _, f := range s.tails.at(right, n-shortest) {
			if strings.HasSuffix(f.text, right[:n]) {
				return span{begin, begin + skipped + form{text: right[:n], run: f.run}.span(right, 0).to}, true
			}
		}
	}
	return span{}, false
}
