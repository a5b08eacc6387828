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

// Translator translates with knowledge about variables. Its zero value knows nothing.
type Translator struct {
	// NeedsDot reports whether a variable's name is a function or keyword of text/template;
	// nil for no name.
	NeedsDot func(name string) bool
	// KindOf returns the kind of a variable, or of a field of one; nil for none known.
	KindOf func(path []string) Kind
	// Printed is called for each variable of unknown kind that a text contains; nil for
	// nobody who wants to know.
	Printed func(name string)
}

// unsure reports a value of unknown kind in a text.
func (t Translator) unsure(n node) {
	if parts, ok := path(bare(n)); ok && t.Printed != nil {
		t.Printed(parts[0])
	}
}

// Condition translates the expression of when, until, failed_when, changed_when or that
// into a boolean expression of expr. A translation that differs from Ansible has notes.
func (t Translator) Condition(src string) (out string, notes []string, err error) {
	n, err := parse(inside(src))
	if err != nil {
		return "", nil, err
	}
	w := &exprPrinter{Translator: t, condition: true}
	out = w.truth(n)
	return out, w.notes, w.err
}

// Expression translates an expression, or a text that is one expression in {{ }}, into
// an expression with the same value, as loop has it.
func (t Translator) Expression(src string) (out string, notes []string, err error) {
	n, err := parse(inside(src))
	if err != nil {
		return "", nil, err
	}
	w := &exprPrinter{Translator: t}
	out = outer(w.value(n))
	return out, w.notes, w.err
}

// Condition is [Translator.Condition] without knowledge about variables and without notes.
func Condition(src string) (string, error) {
	out, _, err := Translator{}.Condition(src)
	return whenGood(out, err)
}

// Expression is [Translator.Expression] without knowledge about variables and without
// notes.
func Expression(src string) (string, error) {
	out, _, err := Translator{}.Expression(src)
	return whenGood(out, err)
}

func whenGood(out string, err error) (string, error) {
	if err != nil {
		return "", err
	}
	return out, nil
}

// Unreadable reports whether an error means that a text is not an expression of Jinja,
// as opposed to one without a translation.
func Unreadable(err error) bool {
	var wrong unreadable
	return errors.As(err, &wrong)
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
