// Package drawtext writes texts in the languages of pictures: SVG, Mermaid and Graphviz's DOT.
// Any package may import it.
package drawtext

import (
	"encoding/xml"
	"strings"
)

// XML returns a text for an element or attribute of XML on one line; what XML forbids becomes
// U+FFFD.
func XML(s string) string {
	var b strings.Builder
	_ = xml.EscapeText(&b, []byte(OneLine(s))) // a Builder takes everything
	return b.String()
}

// Mermaid returns a text for quotes of Mermaid, in which # begins the name of a character.
func Mermaid(s string) string {
	return strings.NewReplacer("#", "#35;", `"`, "#quot;", "<", "#lt;", ">", "#gt;", "&", "#amp;", "`", "#96;", `\`, "#92;").Replace(OneLine(s))
}

// DOT returns a quoted text of DOT. A backslash would begin an escape, and control characters have
// no place in a label.
func DOT(s string) string {
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(OneLine(s)) + `"`
}

// OneLine replaces control characters by spaces.
func OneLine(s string) string {
	return strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f || r == 0x2028 || r == 0x2029 {
			return ' '
		}
		return r
	}, s)
}

// Shorten returns a text of at most room characters; a longer one ends with an ellipsis, and for
// less than 4 characters there is none.
func Shorten(s string, room int) string {
	r := []rune(OneLine(s))
	if len(r) <= room {
		return string(r)
	}
	if room < 4 {
		return ""
	}
	return string(r[:room-1]) + "…"
}
