// Package jsonappend writes JSON without reflection, for lines that a run writes
// hundreds of thousands of times. The output equals that of encoding/json without
// HTML escapes, byte for byte. The package also estimates the memory that JSON takes when
// decoded; see [Weigh].
package jsonappend

import (
	"strconv"
	"time"
	"unicode/utf8"
)

// AppendField appends a comma, the name and a text, or nothing for an empty text.
func AppendField(out []byte, name, s string) []byte {
	if s == "" {
		return out
	}
	return AppendString(AppendName(out, name), s)
}

// AppendNumber appends a comma, the name and a number, or nothing for 0.
func AppendNumber[T ~int | ~int64](out []byte, name string, n T) []byte {
	if n == 0 {
		return out
	}
	return strconv.AppendInt(AppendName(out, name), int64(n), 10)
}

// AppendTrue appends a comma, the name and true, or nothing for false.
func AppendTrue(out []byte, name string, is bool) []byte {
	if !is {
		return out
	}
	return append(AppendName(out, name), "true"...)
}

// AppendName appends a comma and a name that needs no escapes.
func AppendName(out []byte, name string) []byte {
	return append(append(append(out, `,"`...), name...), `":`...)
}

// AppendTime appends a time in RFC 3339 with nanoseconds. The year must have four
// digits.
func AppendTime(out []byte, t time.Time) []byte {
	return append(t.AppendFormat(append(out, '"'), time.RFC3339Nano), '"')
}

const hex = "0123456789abcdef"

// AppendString appends a text in quotes.
func AppendString(out []byte, s string) []byte {
	out = append(out, '"')
	begin := 0
	for i := 0; i < len(s); {
		c := s[i]
		if c >= ' ' && c < utf8.RuneSelf && c != '"' && c != '\\' {
			i++
			continue
		}
		escape, size := escapeOf(s[i:])
		if escape != "" {
			out = append(append(out, s[begin:i]...), escape...)
			begin = i + size
		}
		i += size
	}
	return append(append(out, s[begin:]...), '"')
}

// escapeOf returns the escape for the first character of s, empty when it needs
// none, and the length of the character in bytes.
func escapeOf(s string) (string, int) {
	switch c := s[0]; {
	case c == '"' || c == '\\':
		return `\` + s[:1], 1
	case c == '\n':
		return `\n`, 1
	case c == '\t':
		return `\t`, 1
	case c == '\r':
		return `\r`, 1
	case c == '\b':
		return `\b`, 1
	case c == '\f':
		return `\f`, 1
	case c < ' ':
		return `\u00` + hex[c>>4:c>>4+1] + hex[c&15:c&15+1], 1
	}
	r, size := utf8.DecodeRuneInString(s)
	switch {
	case r == utf8.RuneError && size == 1:
		return `\ufffd`, 1
	case r == '\u2028' || r == '\u2029': // end a line in JavaScript
		return `\u202` + hex[r&15:r&15+1], size
	}
	return "", size
}
