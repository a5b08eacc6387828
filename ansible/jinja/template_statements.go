package jinja

import (
	"errors"
	"fmt"
	"maps"
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
	out, err := t.statementAction(word, strings.TrimSpace(rest), src)
	if err != nil {
		t.problem("{% "+src+" %}", err)
		t.out.WriteString(t.group(0)) // which the compiler refuses
		return t.at[1]
	}
	if out == "" {
		return t.dropped()
	}
	return t.alone(t.group(4), out, t.group(6))
}

// dropped leaves a statement out, together with its line feed.
func (t *translation) dropped() int {
	if !t.keeps && strings.HasPrefix(t.src[t.at[1]:], "\n") && !t.endsLastLine() {
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
	if strings.ContainsAny(t.group(4)+t.group(6)+t.src[t.at[1]+end[0]:t.at[1]+end[1]], "-") {
		t.problem("{% raw %}", errors.New("its signs for white space have no translation"))
	}
	inner := t.src[t.at[1] : t.at[1]+end[0]]
	if t.keeps {
		t.out.WriteString(literalBraces.Replace(inner))
		return t.at[1] + end[1]
	}
	inner = strings.TrimPrefix(inner, "\n")
	t.out.WriteString(literalBraces.Replace(inner))
	t.at[1] += end[1]
	return t.dropped()
}

// literalBraces writes braces that text/template does not read.
var literalBraces = strings.NewReplacer("{{", `{{ "{{" }}`, "{%", `{{ "{%" }}`)

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
	was.locals, was.depths, was.kinds = slices.Clone(t.w.locals), maps.Clone(t.w.depths), maps.Clone(t.w.kinds)
	t.open = append(t.open, opened{word: word, ends: ends, was: was})
}

func (t *translation) end(word string) (string, error) {
	if len(t.open) == 0 || t.open[len(t.open)-1].word != word {
		return "", fmt.Errorf("end%s without %[1]s", word)
	}
	b := t.open[len(t.open)-1]
	t.open = t.open[:len(t.open)-1]
	if word == "if" { // assignments to variables around it stay
		b.was.depths, b.was.kinds = t.w.depths, t.w.kinds
	}
	locals := b.was.locals
	t.w = b.was
	t.w.locals = locals
	t.w.KindOf = t.w.localKinds(t.w.outside)
	return "end" + strings.Repeat(" }}{{ end", b.ends-1), nil
}

func (t *translation) condition(open, src string) (string, error) {
	out, err := t.action(src, false)
	return open + out, err
}

// set assigns a variable of the template. As in Jinja, a variable that is set in a loop is
// one of the loop: the one around it keeps its value.
func (t *translation) set(src string) (string, error) {
	m := setText.FindStringSubmatch(src)
	if m == nil {
		return "", errors.New("set assigns one variable here: use {{ define }} for a block")
	}
	n, err := parse(m[2])
	if err != nil {
		return "", err
	}
	t.w.err, t.w.notes = nil, nil
	value := t.w.pipe(n)
	if t.noteAll(); t.w.err != nil {
		return "", t.w.err
	}
	loops, branch := t.depth()
	known := slices.Contains(t.w.locals, m[1])
	switch {
	case known && t.w.depths[m[1]] == loops:
		t.w.kinds[m[1]] = common(t.w.kinds[m[1]], t.w.kindOf(n))
		return "$" + m[1] + " = " + value, nil
	case branch:
		return "", fmt.Errorf("a variable that is set first in a branch ends with it: write {{ $%s := \"\" }} before the if, and {{ $%[1]s = %s }} in it", m[1], value)
	case !known:
		t.w.locals = append(t.w.locals, m[1])
	}
	t.w.depths[m[1]], t.w.kinds[m[1]] = loops, t.w.kindOf(n)
	return "$" + m[1] + " := " + value, nil
}

// depth returns the number of open loops, and whether a branch is open in the innermost.
func (t *translation) depth() (loops int, branch bool) {
	for _, o := range t.open {
		switch o.word {
		case "for":
			loops++
			branch = false
		case "if":
			branch = true
		}
	}
	return loops, branch
}
