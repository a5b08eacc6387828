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
// that JSON has. AddOutput returns false when the output has more than MaxOutput bytes of
// texts; those beyond are not in the set.
//
// Most of an output is no secret, so AddOutput adds less than Add does: it leaves out paths,
// modes, owners, certificates and public keys. Of a text of several lines it adds the whole
// text, and those lines and values that have letters and digits. It decodes texts that are
// JSON and adds their parts.
func (s *Set) AddOutput(output any) (all bool) {
	left := MaxOutput
	s.addAll(outputTexts(output, &left, nil), isTelling)
	return left >= 0
}

// plainKeys lists keys of outputs whose values are no secrets.
var plainKeys = []string{"path", "dest", "src", "mode", "owner", "group", "why", "made"}

// plainTexts lists common values that are no secrets.
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

// isPublic reports whether a text is a certificate or a public key.
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

// aName matches versions, and names with dots, slashes or colons, such as those of files,
// hosts and interfaces.
var aName = regexp.MustCompile(`^[a-z0-9-]*([./:][a-z0-9-]*)+$`)

// isTelling reports whether a line is likely to be a secret or to contain one. For
// "name: value" the value decides.
func isTelling(line string) bool {
	if value := valueIn(line); value != "" {
		line = value
	}
	letters := strings.ContainsAny(strings.ToLower(line), "abcdefghijklmnopqrstuvwxyz")
	digits := strings.ContainsAny(line, "0123456789")
	return len(line) >= shortestLine && letters && digits && !aName.MatchString(line) && !strings.HasPrefix(line, "-----")
}
