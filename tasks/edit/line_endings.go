package edit

import "strings"

// dosEnds reports whether all lines of a text end with CR LF, as on DOS.
func dosEnds(text string) bool {
	ends := strings.Count(text, "\r\n")
	return ends > 0 && ends == strings.Count(text, "\n")
}

// change is the edit of a text, whose lines may end as those of DOS do: then it
// sees and writes them as any others, so that ^ and $ match at them, and what is new
// ends as the rest does.
func (e edited) change(text string) (string, error) {
	if e.raw || !dosEnds(text) {
		return e.edit(text)
	}
	out, err := e.edit(strings.ReplaceAll(text, "\r\n", "\n"))
	return strings.ReplaceAll(out, "\n", "\r\n"), err
}

// explainReturns reports whether a regular expression looks for carriage returns, as one
// that takes them away does.
func explainReturns(regexp string) bool {
	return strings.Contains(regexp, `\r`) || strings.Contains(regexp, "\r")
}
