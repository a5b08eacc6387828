package sanitize

import (
	"fmt"
	"strings"
	"unicode/utf8"
)

// CutStart returns the last limit bytes of s, with a line in front that says how much was
// left out: errors come last.
func CutStart(s string, limit int) string {
	if len(s) <= limit {
		return s
	}
	dropped := len(s) - limit
	for dropped < len(s) && !utf8.RuneStart(s[dropped]) {
		dropped++
	}
	return fmt.Sprintf("[... %d bytes left out ...]\n%s", dropped, s[dropped:])
}

// CutEnd returns the first limit bytes of s, and a line that says how much was left
// out.
func CutEnd(s string, limit int) string {
	if len(s) <= limit {
		return s
	}
	for limit > 0 && !utf8.RuneStart(s[limit]) {
		limit--
	}
	return fmt.Sprintf("%s\n[... %d bytes left out ...]\n", s[:limit], len(s)-limit)
}

// FirstLine returns the first line of s that is not blank, without blanks around it, and at
// most limit bytes of it; 0 means no limit.
func FirstLine(s string, limit int) string {
	line, _, _ := strings.Cut(strings.TrimSpace(s), "\n")
	if limit > 0 && len(line) > limit {
		return strings.ToValidUTF8(line[:limit], "") + "..."
	}
	return line
}
