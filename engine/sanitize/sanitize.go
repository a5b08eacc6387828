// Package sanitize makes text that comes from a host safe to show. All text
// of a host (results, errors, progress, facts, answers of its servers) passes through [Text],
// or [Line] where it is shown in a row, before it reaches a terminal, a log or another host. The package starts no goroutines and keeps no
// state.
package sanitize

import (
	"strings"
	"unicode/utf8"
)

// Text returns s without terminal escape sequences, control characters (line end
// and tab stay) and characters that change the direction of text; invalid UTF-8
// becomes U+FFFD. So a compromised host cannot rewrite the operator's screen. Text
// returns s itself, without a copy, when s is plain ASCII.
func Text(s string) string {
	if isPlain(s) {
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
		case r == '\n' || r == '\t' || !isControl(r):
			b.WriteRune(r)
		}
		i += n
	}
	return b.String()
}

// Line returns s as Text does, in one line: line ends and tabs become blanks. It is for texts of
// hosts that are shown in a row or a table, where a line end would begin a row of the host's own.
func Line(s string) string {
	s = Text(s)
	if !strings.ContainsAny(s, lineBreaks) {
		return s
	}
	return strings.Map(func(r rune) rune {
		if strings.ContainsRune(lineBreaks, r) {
			return ' '
		}
		return r
	}, s)
}

// lineBreaks are the characters that end a line or a column. U+2028 and U+2029 do so in
// browsers and editors.
const lineBreaks = "\n\t\u2028\u2029"

// isPlain reports whether s is printable ASCII, line ends and tabs.
func isPlain(s string) bool {
	for i := 0; i < len(s); i++ {
		if c := s[i]; c >= 0x7f || c < ' ' && c != '\n' && c != '\t' {
			return false
		}
	}
	return true
}

// isControl reports whether r is a control character or changes the direction of
// text (Unicode UAX 9).
func isControl(r rune) bool {
	return r < ' ' || r >= 0x7f && r < 0xa0 || r == '\u061c' || r == '\u200e' || r == '\u200f' ||
		r >= '\u202a' && r <= '\u202e' || r >= '\u2066' && r <= '\u2069'
}

// escapeLength returns the length in bytes of the escape sequence at the start of
// s (ECMA-48): a CSI sequence ends with its final byte, a string sequence with BEL
// or ST, any other has two bytes.
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
