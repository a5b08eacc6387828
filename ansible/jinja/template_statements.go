package jinja

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
)

var (
	setText     = regexp.MustCompile(`(?s)^set\s+(\w+)\s*=\s*(.*)$`)
	includeText = regexp.MustCompile(`^include\s+['"]([^'"]+)['"]`)
)

// statement translates {% %} and returns the offset at which the text continues.
func (t *translation) statement(src string) int {
	word, rest, _ := strings.Cut(strings.TrimSpace(src), " ")
	if word == "raw" {
		return t.raw()
	}
	deep, exactly := len(t.open), false
	if word == "else" || word == "elif" || strings.HasPrefix(word, "end") {
		exactly = deep > 0 && t.open[deep-1].exact
	}
	out, err := t.statementAction(word, strings.TrimSpace(rest), src)
	if err != nil {
		t.problem("{% "+src+" %}", err)
		out = "/* " + strings.ReplaceAll(src, "*/", "* /") + " */"
	}
	if out == "" {
		return t.dropped()
	}
	next, exact := t.alone(t.group(4), out, t.group(6), exactly)
	if len(t.open) > deep {
		t.open[deep].exact = exact
	}
	return next
}

// dropped leaves a statement out, together with its line feed.
func (t *translation) dropped() int {
	if strings.HasPrefix(t.src[t.at[1]:], "\n") {
		return t.at[1] + 1
	}
	return t.at[1]
}

// raw copies the text up to endraw, with braces escaped.
func (t *translation) raw() int {
	end := regexp.MustCompile(`\{%-?\s*endraw\s*-?%\}`).FindStringIndex(t.src[t.at[1]:])
	if end == nil {
		t.problem("{% raw %}", errors.New("it has no end"))
		return t.at[1]
	}
	inner := t.src[t.at[1] : t.at[1]+end[0]]
	t.out.WriteString(strings.ReplaceAll(inner, "{{", `{{ "{{" }}`))
	return t.at[1] + end[1]
}

// statementAction returns the action for a statement; empty when none is needed.
func (t *translation) statementAction(word, rest, src string) (string, error) {
	switch word {
	case "if":
		t.begin(word, 1)
		return t.condition("if ", rest)
	case "elif":
		return t.condition("else if ", rest)
	case "else":
		return "else", nil
	case "for":
		return t.loop(src)
	case "endif", "endfor":
		return t.end(strings.TrimPrefix(word, "end"))
	case "set":
		return t.set(src)
	case "include":
		if m := includeText.FindStringSubmatch(src); m != nil {
			return `include "` + strings.TrimSuffix(m[1], ".j2") + `.tmpl" $`, nil
		}
	case "block", "endblock":
		return "", nil // it only names a part that other templates can replace
	case "do":
		return "", errors.New("templates cannot change values")
	case "macro", "endmacro", "call", "endcall", "import", "from":
		return "", errors.New(`macros are {{ define "NAME" }}...{{ end }} and {{ template "NAME" VALUE }}`)
	case "extends":
		return "", errors.New("templates do not replace parts of others; a variable that names the template does")
	}
	return "", fmt.Errorf("there is no %s", word)
}

func (t *translation) begin(word string, ends int) {
	was := t.w
	was.locals = slices.Clone(t.w.locals)
	t.open = append(t.open, opened{word: word, ends: ends, was: was})
}

func (t *translation) end(word string) (string, error) {
	if len(t.open) == 0 || t.open[len(t.open)-1].word != word {
		return "", fmt.Errorf("end%s without %[1]s", word)
	}
	b := t.open[len(t.open)-1]
	t.open = t.open[:len(t.open)-1]
	set := t.w.locals
	t.w = b.was
	if word == "if" {
		t.w.locals = set[:min(len(set), len(b.was.locals))]
	}
	return "end" + strings.Repeat(" }}{{ end", b.ends-1), nil
}

func (t *translation) condition(open, src string) (string, error) {
	out, err := t.action(src, false)
	return open + out, err
}

// set assigns a variable of the template.
func (t *translation) set(src string) (string, error) {
	m := setText.FindStringSubmatch(src)
	if m == nil {
		return "", errors.New("set has no block form: use {{ define }}, or a variable")
	}
	value, err := t.action(m[2], false)
	if err != nil {
		return "", err
	}
	if slices.Contains(t.w.locals, m[1]) {
		return "$" + m[1] + " = " + value, nil
	}
	if slices.ContainsFunc(t.open, func(o opened) bool { return o.word == "if" }) {
		return "", fmt.Errorf("a variable that is set first in a branch ends with it: write {{ $%s := \"\" }} before the if, and {{ $%[1]s = %s }} in it", m[1], value)
	}
	t.w.locals = append(t.w.locals, m[1])
	return "$" + m[1] + " := " + value, nil
}
