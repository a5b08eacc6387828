// Package jinja translates the Jinja of Ansible: conditions, loops and texts of
// playbooks into deployer's expression language, template files into text/template with
// sprig.
//
// The package translates syntax without knowing any values. A form that has no translation with
// the same meaning is an error with advice. [Condition] and [Expression] take one
// expression, [PlaybookText] a text with {{ }}, [Text] a template file. parse builds the
// tree; exprPrinter and templatePrinter print it.
package jinja

import (
	"errors"
	"fmt"
	"regexp"
	"strings"
)

// Condition translates the expression of when, until, failed_when, changed_when or that
// into a boolean expression of expr.
func Condition(src string) (string, error) {
	n, err := parse(inside(src))
	if err != nil {
		return "", err
	}
	return write(func(w *exprPrinter) string { return w.truth(n) })
}

// Expression translates an expression, or a text that is one expression in {{ }}, into
// an expression with the same value, as loop has it.
func Expression(src string) (string, error) {
	n, err := parse(inside(src))
	if err != nil {
		return "", err
	}
	return write(func(w *exprPrinter) string { return w.value(n) })
}

// Unreadable reports whether an error means that a text is not an expression of Jinja,
// as opposed to one without a translation.
func Unreadable(err error) bool {
	var wrong unreadable
	return errors.As(err, &wrong)
}

// write runs a printer and returns its text or its first error.
func write(say func(*exprPrinter) string) (string, error) {
	w := &exprPrinter{}
	out := say(w)
	if w.err != nil {
		return "", w.err
	}
	return out, nil
}

// whole matches a text that is {{ EXPRESSION }} and nothing else.
var whole = regexp.MustCompile(`(?s)^\s*\{\{-?(.*?)-?\}\}\s*$`)

func inside(src string) string {
	if m := whole.FindStringSubmatch(src); m != nil && !strings.Contains(m[1], "}}") {
		return m[1]
	}
	return src
}

// IsJinja reports whether a text uses Jinja in a way that text/template does not know: a
// statement, an operator, or a filter.
func IsJinja(src string) bool {
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

// action matches {{ EXPRESSION }} in a text.
var action = regexp.MustCompile(`(?s)\{\{-?(.*?)-?\}\}`)

// isJinja reports whether an expression is more than a name, a constant or a field,
// which text/template has too.
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
