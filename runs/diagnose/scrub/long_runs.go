package scrub

import "regexp"

// longRun is the length in characters from which a run of base64 counts as a secret.
// A key of 32 bytes has 43 of them; a line of a PEM file has 64.
const longRun = 40

var base64Run = regexp.MustCompile(`[A-Za-z0-9+/_-]{40,}={0,2}`)

// longRuns replaces runs of characters that look random: keys without a name, lines of
// keys that were cut at both ends.
func longRuns(line string) string {
	if len(line) < longRun {
		return line
	}
	return base64Run.ReplaceAllStringFunc(line, func(run string) string {
		if looksRandom(run) {
			return Mark
		}
		return run
	})
}

// looksRandom reports whether a run has upper case, lower case and digits, and few
// separators. Paths, names of pods and digests in hex do not.
func looksRandom(run string) bool {
	var upper, lower, digits, separators int
	for _, c := range run {
		switch {
		case c >= 'A' && c <= 'Z':
			upper++
		case c >= 'a' && c <= 'z':
			lower++
		case c >= '0' && c <= '9':
			digits++
		case c != '=':
			separators++
		}
	}
	return upper >= 3 && lower >= 3 && digits >= 1 && separators <= len(run)/6
}
