package scrub

import "strings"

// Text returns a text without the parts that look like secrets.
func Text(text string) string {
	text = privateKeys(text)
	text = secretObjects(text)
	if !mayHoldSecret(text) {
		return text
	}
	var b strings.Builder
	b.Grow(len(text))
	for line := range strings.Lines(text) {
		b.WriteString(scrubLine(line))
	}
	return b.String()
}

// mayHoldSecret reports whether some rule for lines may apply: a text of short words has
// no secret.
func mayHoldSecret(text string) bool { return strings.ContainsAny(text, ":= ") || len(text) >= longRun }

// scrubLine applies the rules for lines.
func scrubLine(line string) string {
	lower := strings.ToLower(line)
	for _, r := range lineRules {
		if r.applies(lower) {
			line = r.apply(line)
		}
	}
	return longRuns(line)
}
