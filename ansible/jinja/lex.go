package jinja

import (
	"fmt"
	"regexp"
	"strings"
)

// token is a lexical element of an expression: a word, a number, a text in quotes (its
// content) or an operator.
type token struct {
	sort byte // 'w', 'n', 't', 'o', or 0 at the end
	text string
}

// pieces matches one token, with a group for each sort.
var pieces = regexp.MustCompile(`^(?:([A-Za-z_][A-Za-z0-9_]*)|([0-9]+(?:\.[0-9]+)?)|('(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*")|(==|!=|<=|>=|//|\*\*|[-+*/%~<>()\[\]{}.,:|=]))`)

// tokens splits an expression. In a raw one, a backslash is always a letter of its text, as
// between the {{ }} of a playbook.
func tokens(src string, raw bool) ([]token, error) {
	var out []token
	for rest := strings.TrimSpace(src); rest != ""; rest = strings.TrimSpace(rest) {
		m := pieces.FindStringSubmatch(rest)
		if m == nil {
			return nil, fmt.Errorf("cannot read %q", shorten(rest))
		}
		rest = rest[len(m[0]):]
		switch {
		case m[1] != "":
			out = append(out, token{'w', m[1]})
		case m[2] != "":
			out = append(out, token{'n', m[2]})
		case m[3] != "":
			out = append(out, token{'t', unquote(m[3], raw)})
		default:
			out = append(out, token{'o', m[4]})
		}
	}
	return out, nil
}

// escaped replaces the escape sequences of Jinja; before any other character a backslash
// stands for itself, as in patterns.
var escaped = strings.NewReplacer(`\n`, "\n", `\t`, "\t", `\r`, "\r", `\'`, `'`, `\"`, `"`, `\\`, `\`)

func unquote(s string, raw bool) string {
	if raw {
		return s[1 : len(s)-1]
	}
	return escaped.Replace(s[1 : len(s)-1])
}

func shorten(s string) string {
	if r := []rune(s); len(r) > 40 {
		return string(r[:40]) + "..."
	}
	return s
}
