package scrub

import (
	"regexp"
	"strings"
)

var (
	keyBegin = regexp.MustCompile(`-{4,5}\s?BEGIN [A-Z0-9 ]*PRIVATE KEY( BLOCK)?\s?-{4,5}`)
	keyEnd   = regexp.MustCompile(`-{4,5}\s?END [A-Z0-9 ]*PRIVATE KEY( BLOCK)?\s?-{4,5}`)
	// keyLine is the end of a line that may be one of a key, behind the prefix of a log.
	keyLine = regexp.MustCompile(`(^|[\s"':])[A-Za-z0-9+/]{4,}={0,2}[\s"',\\]*$`)
)

// privateKeys replaces private keys in PEM form, in one line or several, whose lines may
// have the prefix of a log. Of a key that was cut, it replaces what is there.
func privateKeys(text string) string {
	if !strings.Contains(text, "PRIVATE KEY") {
		return text
	}
	var b strings.Builder
	for {
		begin, end := keyBegin.FindStringIndex(text), keyEnd.FindStringIndex(text)
		switch {
		case begin == nil && end == nil:
			b.WriteString(text)
			return b.String()
		case begin == nil || end != nil && end[0] < begin[0]:
			b.WriteString(withoutKeyLines(text[:end[0]]))
			b.WriteString(Mark)
			text = text[end[1]:]
		case end == nil:
			b.WriteString(text[:begin[0]])
			b.WriteString(Mark)
			b.WriteString(afterKeyLines(text[begin[1]:]))
			return b.String()
		default:
			b.WriteString(text[:begin[0]])
			b.WriteString(Mark)
			text = text[end[1]:]
		}
	}
}

// withoutKeyLines removes the lines at the end of a text that may be those of a key whose
// begin was cut off.
func withoutKeyLines(text string) string {
	lines := strings.SplitAfter(text, "\n")
	last := len(lines) - 1 // the prefix of the line that ends the key, or its only line
	if keyLine.MatchString(lines[last]) || len(strings.TrimSpace(lines[last])) >= longRun {
		lines[last] = ""
	}
	for last > 0 && keyLine.MatchString(lines[last-1]) {
		last--
		lines[last] = ""
	}
	return strings.Join(lines, "")
}

// afterKeyLines removes the lines at the begin of a text that may be those of a key whose
// end was cut off. The first line belongs to the begin of the key.
func afterKeyLines(text string) string {
	lines := strings.SplitAfter(text, "\n")
	lines[0] = strings.Repeat("\n", strings.Count(lines[0], "\n"))
	for i := 1; i < len(lines); i++ {
		if !keyLine.MatchString(lines[i]) && strings.TrimSpace(lines[i]) != "" && !strings.Contains(lines[i], ": ") {
			break
		}
		if !keyLine.MatchString(lines[i]) && i > 3 {
			break
		}
		lines[i] = ""
	}
	return strings.Join(lines, "")
}
