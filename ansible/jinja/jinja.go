// Package jinja translates what playbooks of Ansible say in Jinja: conditions
// and loops into expr, texts and template files into text/template with sprig.
// It knows no values, only forms: what it cannot translate with the same meaning
// is an error that says what to do instead.
package jinja

import (
	"errors"
	"fmt"
	"regexp"
	"strings"
)

// Condition translates an expression that stands by itself, as in when, until,
// failed_when, that: into one of expr that is true or false.
func Condition(src string) (string, error) {
	n, err := parse(inside(src))
	if err != nil {
		return "", err
	}
	return write(func(w *exprs) string { return w.truth(n) })
}

// Expression translates an expression, or a text that is one in {{ }}, into one of
// expr with the same value, as in loop.
func Expression(src string) (string, error) {
	n, err := parse(inside(src))
	if err != nil {
		return "", err
	}
	return write(func(w *exprs) string { return w.value(n) })
}

// Unreadable tells whether an error says that a text is no Jinja at all, rather
// than that it cannot be translated.
func Unreadable(err error) bool {
	var wrong unreadable
	return errors.As(err, &wrong)
}

// write collects what a printer could not translate.
func write(say func(*exprs) string) (string, error) {
	w := &exprs{}
	out := say(w)
	if w.err != nil {
		return "", w.err
	}
	return out, nil
}

// whole is a text that is one {{ expression }} and nothing else.
var whole = regexp.MustCompile(`(?s)^\s*\{\{-?(.*?)-?\}\}\s*$`)

func inside(src string) string {
	if m := whole.FindStringSubmatch(src); m != nil && !strings.Contains(m[1], "}}") {
		return m[1]
	}
	return src
}

// Looks tells whether a text looks like one of Jinja rather than of text/template:
// it has a filter with parentheses, an operator, or a statement.
func Looks(src string) bool {
	if strings.Contains(src, "{%") {
		return true
	}
	for _, m := range action.FindAllStringSubmatch(src, -1) {
		if n, err := parse(m[1]); err == nil && isJinja(n) {
			return true
		}
	}
	return false
}

// action is {{ one expression }} in a text.
var action = regexp.MustCompile(`(?s)\{\{-?(.*?)-?\}\}`)

// isJinja: text/template knows the same names, quoted texts and numbers.
func isJinja(n node) bool {
	switch t := n.(type) {
	case name, text, literal:
		return false
	case field:
		return isJinja(t.of)
	}
	return true
}

func fail(format string, args ...any) error { return fmt.Errorf(format, args...) }
