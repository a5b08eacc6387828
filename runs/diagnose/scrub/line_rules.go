package scrub

import (
	"regexp"
	"slices"
	"strings"
)

// lineRule replaces secrets within one line. lineRule is tried only on lines that have one of
// its hints, in lower case, as most lines of a log have none.
type lineRule struct {
	hints       []string
	pattern     *regexp.Regexp
	replacement string
}

func (r lineRule) applies(lower string) bool {
	return slices.ContainsFunc(r.hints, func(hint string) bool { return strings.Contains(lower, hint) })
}

// secretNames are parts of the names of options and keys whose values are secret.
var secretNames = []string{"password", "passwd", "passphrase", "pass-phrase", "secret", "token", "api-key", "api_key", "apikey", "access-key", "access_key",
	"accesskey", "private-key", "private_key", "privatekey", "key-data", "certificate-data", "credential", "cookie"}

// value is the rest of a word, or a text in quotes. The quotes may be escaped, as in a
// log that quotes another one.
const value = `(?:\\*"[^"]*"?|'[^']*'?|\S+)`

// lineRules are tried in this order.
var lineRules = []lineRule{
	// Authorization: SCHEME CREDENTIALS, and tokens and encoded passwords that stand alone.
	{[]string{"authorization"}, regexp.MustCompile(`(?i)(authorization\\*["']?\s*[:=]\s*)\\*["']?[^"'\r\n]+`), "${1}" + Mark},
	{[]string{"bearer"}, regexp.MustCompile(`(?i)\b(bearer)\s+[^\s"',;]{6,}`), "${1} " + Mark},
	{[]string{"basic"}, regexp.MustCompile(`(?i)\b(basic)\s+[A-Za-z0-9+/]{12,}={0,2}`), "${1} " + Mark},
	// --token=TEXT, "password": "TEXT", client-key-data: TEXT, access_key TEXT
	{secretNames, regexp.MustCompile(`(?i)([\w.-]*(?:` + strings.Join(secretNames, "|") + `)[\w.-]*\\*["']?\s*[:=]\s*)` + value), "${1}" + Mark},
	{secretNames, regexp.MustCompile(`(?i)(--?[\w-]*(?:` + strings.Join(secretNames, "|") + `)[\w-]*\s+)` + value), "${1}" + Mark},
	{[]string{"password", "passphrase"}, regexp.MustCompile(`(?i)\b(password|passphrase)(\s+)(\\*"[^"]*"?|'[^']*'?)`), "${1}${2}" + Mark},
	// https://user:password@host
	{[]string{"://"}, regexp.MustCompile(`(://[^/\s:@]*:)[^/\s@]+@`), "${1}" + Mark + "@"},
	// JSON Web Tokens, such as those of service accounts.
	{[]string{"eyj"}, regexp.MustCompile(`\beyJ[A-Za-z0-9_-]{8,}(\.[A-Za-z0-9_-]*){0,2}`), Mark},
	// Bootstrap tokens of Kubernetes: six characters, a dot, sixteen characters.
	{[]string{"."}, regexp.MustCompile(`\b[a-z0-9]{6}\.[a-z0-9]{16}\b`), Mark},
	{[]string{"age-secret-key-"}, regexp.MustCompile(`(?i)AGE-SECRET-KEY-[A-Z0-9-]+`), Mark},
	// Tokens of GitHub, GitLab and Slack.
	{[]string{"gh", "glpat-", "xox"}, regexp.MustCompile(`\b(gh[pousr]_|github_pat_|glpat-|xox[abprs]-)[A-Za-z0-9_-]{10,}`), Mark},
	// Password hashes of crypt(3): $6$salt$hash.
	{[]string{"$"}, regexp.MustCompile(`\$[0-9a-z]{1,8}\$[^\s:$"']+\$[^\s:"']{8,}`), Mark},
}
