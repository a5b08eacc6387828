package redact

import (
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"html"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// form is one way in which a secret may be written.
type form struct {
	text string
	// run: the form stands in a run of base64 digits, all of which is replaced,
	// and which may be broken into lines.
	run bool
}

// forms returns the ways in which a secret may be written: as it is, each line of
// it that is not short, quoted for a shell, in JSON with and without the escapes
// for HTML, in YAML, as a literal of Go, in URLs and in HTML, in hex, and in
// Base64 of it alone or within more text.
func forms(secret string, wanted func(line string) bool) []form {
	var out []form
	seen := map[form]bool{}
	add := func(run bool, texts ...string) {
		for _, text := range texts {
			if f := (form{text, run}); len(text) >= shortest && !seen[f] {
				seen[f] = true
				out = append(out, f)
			}
		}
	}
	for _, piece := range pieces(secret, wanted) {
		for _, text := range append(quoted(piece), piece) {
			add(false, text, cleaned(text))
		}
		add(true, base64Forms(piece)...)
	}
	return out
}

// pieces returns a secret, the secret without surrounding white space, and those of its
// lines that are wanted, because diffs and logs show single lines.
func pieces(secret string, wanted func(line string) bool) []string {
	trimmed := strings.TrimSpace(secret)
	out := []string{secret, trimmed}
	if strings.Contains(trimmed, "\n") {
		for line := range strings.Lines(trimmed) {
			if line = strings.TrimSpace(line); wanted(line) {
				out = append(out, line)
			}
		}
	}
	return slices.DeleteFunc(out, func(piece string) bool { return len(piece) < shortest })
}

// isLong reports whether a line of a secret is long enough to be redacted by itself.
func isLong(line string) bool { return len(line) >= shortestLine }

// quoted returns the forms that encode each character by itself, so that they are found
// within a longer text that is quoted as a whole.
func quoted(s string) []string {
	shell := strings.ReplaceAll(s, "'", `'\''`)
	plain, ascii := jsonInner(s, false), asciiJSON(s)
	query, path := url.QueryEscape(s), url.PathEscape(s)
	out := []string{
		shell, strings.ReplaceAll(shell, "'", `'\''`), strings.ReplaceAll(s, "'", `'"'"'`), // sh, sh within sh, Python's shlex
		backslashed(s, "\"\\$`"), backslashed(s, " \t!\"$&'()*;<>?[\\]^`{|},"), // "..." in sh, printf %q of bash
		plain, jsonInner(s, true), ascii, strings.ReplaceAll(plain, "/", `\/`), jsonInner(plain, false), jsonInner(jsonInner(s, true), false),
		longEscapes(plain), longEscapes(goInner(s)), // YAML's "..."
		strings.ReplaceAll(s, "'", "''"), strings.ReplaceAll(s, "'", `\'`), strings.ReplaceAll(plain, "'", `\'`), // YAML's and others' '...'
		goInner(s), goInner(goInner(s)),
		query, path, lowerHex(query), lowerHex(path), url.UserPassword("", s).String()[1:], percentAll(s), strings.ReplaceAll(path, "+", "%2B"),
		html.EscapeString(s), htmlNamed(s),
		hex.EncodeToString([]byte(s)), strings.ToUpper(hex.EncodeToString([]byte(s))),
	}
	return append(out, jsonInner(goInner(s), false), jsonInner(shell, false), jsonInner(shell, true))
}

// jsonInner returns s as a JSON string, without the quotes around it.
func jsonInner(s string, forHTML bool) string {
	var b strings.Builder
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(forHTML)
	if err := enc.Encode(s); err != nil {
		return s
	}
	text := strings.TrimSuffix(b.String(), "\n")
	return text[1 : len(text)-1]
}

// asciiJSON returns jsonInner with all non-ASCII characters escaped, as Python writes JSON.
func asciiJSON(s string) string {
	var b strings.Builder
	for _, r := range jsonInner(s, false) {
		switch {
		case r < utf8.RuneSelf:
			b.WriteRune(r)
		case r > 0xffff:
			high, low := utf16.EncodeRune(r)
			fmt.Fprintf(&b, `\u%04x\u%04x`, high, low)
		default:
			fmt.Fprintf(&b, `\u%04x`, r)
		}
	}
	return b.String()
}

// longEscapes writes the characters for which two bytes do not suffice as YAML does.
func longEscapes(s string) string {
	var b strings.Builder
	for _, r := range s {
		if r > 0xffff {
			fmt.Fprintf(&b, `\U%08X`, r)
		} else {
			b.WriteRune(r)
		}
	}
	return b.String()
}

func goInner(s string) string {
	text := strconv.Quote(s)
	return text[1 : len(text)-1]
}

// backslashed returns s with a backslash before each character that is in which.
func backslashed(s, which string) string {
	var b strings.Builder
	for _, r := range s {
		if strings.ContainsRune(which, r) {
			b.WriteByte('\\')
		}
		b.WriteRune(r)
	}
	return b.String()
}

// lowerHex writes the digits of %XX in lower case.
func lowerHex(s string) string {
	b := []byte(s)
	for i := 0; i+2 < len(b); i++ {
		if b[i] == '%' {
			copy(b[i+1:i+3], strings.ToLower(string(b[i+1:i+3])))
		}
	}
	return string(b)
}

// percentAll percent-encodes all characters except letters, digits and -._~ (RFC 3986,
// unreserved characters).
func percentAll(s string) string {
	var b strings.Builder
	for i := range len(s) {
		if c := s[i]; isAlnum(c) || strings.IndexByte("-._~", c) >= 0 {
			b.WriteByte(c)
		} else {
			fmt.Fprintf(&b, "%%%02X", c)
		}
	}
	return b.String()
}

func htmlNamed(s string) string {
	return strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;", `"`, "&quot;", "'", "&apos;").Replace(s)
}

// cleaned returns s in the form of sanitized text from hosts: without control characters
// other than line feed and tab.
func cleaned(s string) string {
	return strings.Map(func(r rune) rune {
		if r < ' ' && r != '\n' && r != '\t' || r == 0x7f {
			return -1
		}
		return r
	}, s)
}

// base64Forms returns the Base64 digits that depend on s only, for each of the three
// alignments at which s may begin within an encoded text: in user:password the password
// begins in the middle.
func base64Forms(s string) []string {
	var out []string
	for _, enc := range []*base64.Encoding{base64.RawStdEncoding, base64.RawURLEncoding} {
		for before := range 3 {
			text := enc.EncodeToString(append(make([]byte, before), s...))
			first, last := (before*8+5)/6, (before+len(s))*8/6
			out = append(out, text[first:last])
		}
	}
	return out
}

func isAlnum(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9'
}
