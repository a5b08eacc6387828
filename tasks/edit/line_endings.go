package edit

import "strings"

// dosEnds reports whether all lines of a text end with CR LF, as on DOS.
func dosEnds(text string) bool {
	ends := strings.Count(text, "\r\n")
	return ends > 0 && ends == strings.Count(text, "\n")
}

// change applies an edit to a text. A text with DOS line ends is edited without their
// carriage returns, so that ^ and $ match, and gets them back in all lines.
func (e edited) change(text string) (string, error) {
	if e.raw || !dosEnds(text) {
		return e.edit(text)
	}
	out, err := e.edit(strings.ReplaceAll(text, "\r\n", "\n"))
	return strings.ReplaceAll(out, "\n", "\r\n"), err
}

// explainReturns reports whether a regular expression matches carriage returns, as one
// that removes them does.
func explainReturns(regexp string) bool {
	return strings.Contains(regexp, `\r`) || strings.Contains(regexp, "\r")
}
