package redact

import (
	"encoding/json"
	"regexp"
	"slices"
	"strings"
)

// MaxOutput is the maximum size of the texts of one output that AddOutput takes, in bytes.
const MaxOutput = 64 << 10

// AddOutput adds the texts of the output of a secret step: a value of the kinds
// that JSON has. It returns false when the output has more than MaxOutput bytes of
// texts; those beyond are not in the set.
//
// An output is data, and most of it is no secret, so less of it is taken than of
// what somebody has marked: no paths, modes and owners, no certificates and public
// keys, and of texts of several lines, beside the whole, only the lines and the
// values in them that have letters and digits. A text that is JSON is taken apart.
func (s *Set) AddOutput(output any) (all bool) {
	left := MaxOutput
	s.addAll(outputTexts(output, &left, nil), isTelling)
	return left >= 0
}

// plainKeys are names in outputs whose values are no secrets.
var plainKeys = []string{"path", "dest", "src", "mode", "owner", "group", "why", "made"}

// plainTexts are values that say nothing.
var plainTexts = []string{"true", "false", "null", "none", "None", "True", "False"}

func outputTexts(v any, left *int, out []string) []string {
	switch v := v.(type) {
	case string:
		return textOf(v, left, out)
	case []any:
		for _, e := range v {
			out = outputTexts(e, left, out)
		}
	case map[string]any:
		for key, e := range v {
			if !slices.Contains(plainKeys, key) {
				out = outputTexts(e, left, out)
			}
		}
	}
	return out
}

func textOf(text string, left *int, out []string) []string {
	trimmed := strings.TrimSpace(text)
	if len(trimmed) < shortest || slices.Contains(plainTexts, trimmed) || isPublic(trimmed) {
		return out
	}
	if *left -= len(text); *left < 0 {
		return out
	}
	if trimmed[0] == '{' || trimmed[0] == '[' {
		var inside any
		if json.Unmarshal([]byte(trimmed), &inside) == nil {
			out = outputTexts(inside, left, out)
		}
	}
	out = append(out, text)
	if !strings.Contains(trimmed, "\n") {
		return out
	}
	for line := range strings.Lines(trimmed) {
		if value := valueIn(line); isTelling(value) {
			out = append(out, value)
		}
	}
	return out
}

// isPublic is true for certificates and public keys.
func isPublic(text string) bool {
	return strings.HasPrefix(text, "-----BEGIN ") && !strings.Contains(text, "PRIVATE")
}

// valueIn returns the text after the first ": " or "=" of a line, without quotes.
func valueIn(line string) string {
	at := strings.IndexAny(line, ":=")
	if at < 0 {
		return ""
	}
	return strings.Trim(strings.TrimSpace(line[at+1:]), `"'`)
}

// aName matches versions, and names with dots or slashes as files, hosts and
// interfaces have them.
var aName = regexp.MustCompile(`^[a-z0-9-]*([./:][a-z0-9-]*)+$`)

// isTelling is true for a line that is likely to be a secret or to have one in it: of
// "name: value" the value decides.
func isTelling(line string) bool {
	if value := valueIn(line); value != "" {
		line = value
	}
	letters := strings.ContainsAny(strings.ToLower(line), "abcdefghijklmnopqrstuvwxyz")
	digits := strings.ContainsAny(line, "0123456789")
	return len(line) >= shortestLine && letters && digits && !aName.MatchString(line) && !strings.HasPrefix(line, "-----")
}
