package transport

import (
	"strings"
	"unicode/utf8"
)

// Clean makes text from a host safe to show: it takes out terminal escape
// sequences, control characters but for line end and tab, characters that
// change the direction of text, and what is no UTF-8. A host that was broken
// into must not be able to rewrite what the operator sees.
func Clean(s string) string {
	if harmless(s) {
		return s
	}
	var b strings.Builder
	b.Grow(len(s))
	for i := 0; i < len(s); {
		r, n := utf8.DecodeRuneInString(s[i:])
		switch {
		case r == '\x1b' || r == '\u009b' || r == '\u009d':
			n = escapeLength(s[i:], r)
		case r == utf8.RuneError && n == 1:
			b.WriteRune(utf8.RuneError)
		case r == '\n' || r == '\t' || !hidden(r):
			b.WriteRune(r)
		}
		i += n
	}
	return b.String()
}

func harmless(s string) bool {
	for i := 0; i < len(s); i++ {
		if c := s[i]; c >= 0x7f || c < ' ' && c != '\n' && c != '\t' {
			return false
		}
	}
	return true
}

// hidden is true for control characters and for those that turn the direction
// of text (Unicode UAX 9).
func hidden(r rune) bool {
	return r < ' ' || r >= 0x7f && r < 0xa0 || r == '\u061c' || r == '\u200e' || r == '\u200f' ||
		r >= '\u202a' && r <= '\u202e' || r >= '\u2066' && r <= '\u2069'
}

// escapeLength is the length in bytes of the escape sequence that s begins with
// (ECMA-48): CSI up to its final byte, strings up to BEL or ST, else two bytes.
func escapeLength(s string, first rune) int {
	i := utf8.RuneLen(first)
	kind := first
	if first == '\x1b' {
		if len(s) == 1 {
			return 1
		}
		kind = rune(s[1])
		i = 2
	}
	switch kind {
	case '[', '\u009b':
		for ; i < len(s); i++ {
			if s[i] < 0x20 || s[i] > 0x7e {
				return i // not a sequence: what follows is text
			}
			if s[i] >= 0x40 {
				return i + 1
			}
		}
		return i
	case ']', 'P', '^', '_', 'X', '\u009d':
		for ; i < len(s); i++ {
			switch {
			case s[i] == 7:
				return i + 1
			case s[i] == '\x1b' && i+1 < len(s) && s[i+1] == '\\':
				return i + 2
			case s[i] == '\n':
				return i // unfinished: do not swallow the rest
			}
		}
		return i
	}
	if kind >= 0x80 {
		return 1 // the escape alone; what follows is text
	}
	return i
}
