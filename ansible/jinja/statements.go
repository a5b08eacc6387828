package jinja

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
)

var (
	forText     = regexp.MustCompile(`(?s)^for\s+([\w, ]+?)\s+in\s+(.*)$`)
	setText     = regexp.MustCompile(`(?s)^set\s+(\w+)\s*=\s*(.*)$`)
	includeText = regexp.MustCompile(`^include\s+['"]([^'"]+)['"]`)
	loopField   = regexp.MustCompile(`\bloop\.`)
)

// statement translates {% %} and returns where the text goes on.
func (t *translation) statement(src string) int {
	word, rest, _ := strings.Cut(strings.TrimSpace(src), " ")
	if word == "raw" {
		return t.raw()
	}
	deep, exactly := len(t.open), false
	if word == "else" || word == "elif" || strings.HasPrefix(word, "end") {
		exactly = deep > 0 && t.open[deep-1].exact
	}
	out, err := t.said(word, strings.TrimSpace(rest), src)
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

// dropped leaves a statement out, with its line if it has one for itself.
func (t *translation) dropped() int {
	if strings.HasPrefix(t.src[t.at[1]:], "\n") {
		return t.at[1] + 1
	}
	return t.at[1]
}

// raw takes over what stands up to endraw: braces are texts.
func (t *translation) raw() int {
	end := regexp.MustCompile(`\{%-?\s*endraw\s*-?%\}`).FindStringIndex(t.src[t.at[1]:])
	if end == nil {
		t.problem("{% raw %}", errors.New("it does not end"))
		return t.at[1]
	}
	inner := t.src[t.at[1] : t.at[1]+end[0]]
	t.out.WriteString(strings.ReplaceAll(inner, "{{", `{{ "{{" }}`))
	return t.at[1] + end[1]
}

// said is the action of a statement; empty for one that is not needed.
func (t *translation) said(word, rest, src string) (string, error) {
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
		return "", nil // it only names a part for others to replace
	case "do":
		return "", errors.New("a template here changes no value")
	case "macro", "endmacro", "call", "endcall", "import", "from":
		return "", errors.New(`a part that is used often: {{ define "NAME" }}...{{ end }} and {{ template "NAME" VALUE }}`)
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

// loop translates for: over a list, or keys and values of a mapping.
func (t *translation) loop(src string) (string, error) {
	m := forText.FindStringSubmatch(src)
	if m == nil {
		t.begin("for", 1)
		return "", errors.New("cannot read it")
	}
	over, filterOf := m[2], ""
	if i := strings.LastIndex(over, " if "); i >= 0 && !strings.Contains(over[i:], " else ") {
		over, filterOf = over[:i], over[i+4:]
	}
	over = strings.TrimSuffix(strings.TrimSpace(over), "recursive")
	n, err := parse(over)
	vars := strings.FieldsFunc(m[1], func(r rune) bool { return r == ',' || r == ' ' })
	if filterOf != "" {
		t.begin("for", 2)
	} else {
		t.begin("for", 1)
	}
	if err != nil {
		return "", err
	}
	t.w.err = nil
	of := t.w.pipe(pairsOf(n, len(vars)))
	if t.w.err != nil {
		return "", t.w.err
	}
	t.w.locals, t.w.deep, t.w.index, t.w.of = append(t.w.locals, vars...), true, "", ""
	names := "$" + strings.Join(vars, ", $")
	if body := t.src[t.at[1]:]; len(vars) == 1 && loopField.MatchString(body[:ending(body)]) {
		t.w.index = "$i" + strings.Repeat("i", len(t.open)-1)
		t.w.of = of
		if strings.Contains(of, " ") {
			t.w.of = "(" + of + ")"
		}
		names = t.w.index + ", " + names
	}
	out := "range " + names + " := " + of
	if filterOf == "" {
		return out, nil
	}
	cond, err := t.action(filterOf, false)
	return out + " }}{{ if " + cond, err
}

// pairsOf is the mapping of `MAPPING.items()`, or of dict2items and dictsort, when
// there are two variables.
func pairsOf(n node, vars int) node {
	if vars != 2 {
		return n
	}
	switch t := bare(n).(type) {
	case call:
		if t.name == "items" || t.name == "iteritems" {
			return t.of
		}
	case filter:
		if t.name == "dictsort" || t.name == "items" {
			return t.of
		}
	}
	return n
}

// ending is where the loop ends whose body begins a text, or the text's end.
func ending(body string) int {
	depth := 0
	for _, m := range part.FindAllStringSubmatchIndex(body, -1) {
		if m[10] < 0 {
			continue
		}
		switch word, _, _ := strings.Cut(strings.TrimSpace(body[m[10]:m[11]]), " "); word {
		case "for":
			depth++
		case "endfor":
			if depth--; depth < 0 {
				return m[0]
			}
		}
	}
	return len(body)
}

// set gives a variable of the template a value.
func (t *translation) set(src string) (string, error) {
	m := setText.FindStringSubmatch(src)
	if m == nil {
		return "", errors.New("set with a block: {{ define }}, or a variable")
	}
	value, err := t.action(m[2], false)
	if err != nil {
		return "", err
	}
	if slices.Contains(t.w.locals, m[1]) {
		return "$" + m[1] + " = " + value, nil
	}
	if slices.ContainsFunc(t.open, func(o opened) bool { return o.word == "if" }) {
		return "", fmt.Errorf("a variable that is new in a branch ends with it: {{ $%s := \"\" }} before the if, and {{ $%[1]s = %s }} in it", m[1], value)
	}
	t.w.locals = append(t.w.locals, m[1])
	return "$" + m[1] + " := " + value, nil
}
