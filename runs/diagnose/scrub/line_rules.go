package scrub

import (
	"regexp"
	"slices"
	"strings"
)

// lineRule replaces secrets within one line. A lineRule is tried only on lines that have one of
// its hints, in lower case, as most lines of a log have none.
type lineRule struct {
	hints       []string
	pattern     *regexp.Regexp
	replacement string
}

// imageDigest ends a match that is the reference of an image and no address of a login.
var imageDigest = regexp.MustCompile(`@sha\d+:$`)

func (r lineRule) apply(line string) string {
	return r.pattern.ReplaceAllStringFunc(line, func(match string) string {
		if imageDigest.MatchString(match) {
			return match
		}
		return r.pattern.ReplaceAllString(match, r.replacement)
	})
}

func (r lineRule) applies(lower string) bool {
	return slices.ContainsFunc(r.hints, func(hint string) bool { return strings.Contains(lower, hint) })
}

// lineRules are tried in this order: a rule that reads more of the line comes first.
var lineRules = slices.Concat(headerRules, commandRules, nameRules, urlRules, tokenRules)

// value is the rest of a word, or a text in quotes. The quotes may be escaped, as in a
// log that quotes another one.
const value = `(?:\\*"[^"]*"?|'[^']*'?|\S+)`

// headerRules remove what authenticates a request, in the forms of HTTP.
var headerRules = []lineRule{
	// Digest has several values in quotes, up to the end of the line.
	{[]string{"authorization"}, regexp.MustCompile(`(?i)(authorization\\*["']?\s*[:=]\s*)digest\s[^\r\n]+`), "${1}" + Mark},
	{[]string{"authorization"}, regexp.MustCompile(`(?i)(authorization\\*["']?\s*[:=]\s*)\\*["']?[^"'\r\n]+`), "${1}" + Mark},
	{[]string{"bearer"}, regexp.MustCompile(`(?i)\b(bearer)\s+[^\s"',;]{6,}`), "${1} " + Mark},
	{[]string{"basic"}, regexp.MustCompile(`(?i)\b(basic)\s+[A-Za-z0-9+/]{12,}={0,2}`), "${1} " + Mark},
	// The credentials of registries in Docker's config.json.
	{[]string{`auth`}, regexp.MustCompile(`(?i)(\\*"auth\\*"\s*:\s*)\\*"[^"]*"?`), "${1}" + Mark},
	{[]string{"signature"}, regexp.MustCompile(`(?i)\b(signature\s*=\s*)[A-Za-z0-9%+/=_-]{16,}`), "${1}" + Mark},
}
