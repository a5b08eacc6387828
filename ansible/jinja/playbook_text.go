package jinja

import (
	"errors"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// PlaybookText translates a text of a playbook or inventory. Expressions that mean the
// same in deployer stay as they are written, others are translated. A part without a
// translation stays unchanged and is a problem.
func (t Translator) PlaybookText(src string) (string, []Problem) {
	p := &playbookText{Translator: t, src: src, single: isSingle(src)}
	var out strings.Builder
	for p.next < len(src) {
		m := part.FindStringSubmatchIndex(src[p.next:])
		if m == nil {
			break
		}
		from, to := p.next+m[0], p.next+m[1]
		out.WriteString(src[p.next:from])
		p.line, p.part, p.next = 1+strings.Count(src[:from], "\n"), src[from:to], to
		translated, err := p.translate()
		if err != nil {
			p.problem(err, false)
			translated, p.next = p.part, to
		}
		out.WriteString(translated)
	}
	out.WriteString(src[min(p.next, len(src)):])
	return out.String(), p.problems
}

// PlaybookText is [Translator.PlaybookText] without knowledge about variables; it leaves
// out the problems of translations that differ.
func PlaybookText(src string) (string, []Problem) {
	out, problems := Translator{}.PlaybookText(src)
	return out, slices.DeleteFunc(problems, func(p Problem) bool { return p.Differs })
}

// isSingle reports whether a text is one {{ }} and nothing else.
func isSingle(src string) bool {
	m := whole.FindStringSubmatch(src)
	return m != nil && !strings.Contains(m[1], "}}") && strings.TrimSpace(src) == src
}

// playbookText is a text that is being translated.
type playbookText struct {
	Translator
	src      string
	single   bool   // the text is one {{ }}, so its value keeps its type
	part     string // the current {{ }}, {% %} or {# #}
	line     int    // of part
	next     int    // offset behind what is translated
	problems []Problem
}

func (p *playbookText) problem(err error, differs bool) {
	p.problems = append(p.problems, Problem{Line: p.line, Text: p.part, Err: err, Differs: differs})
}

// translate translates the current part, and what belongs to it behind it.
func (p *playbookText) translate() (string, error) {
	m := part.FindStringSubmatch(p.part)
	switch {
	case strings.HasPrefix(p.part, "{#"):
		return "", nil
	case strings.HasPrefix(p.part, "{{"):
		translated, err := p.expression(m[2])
		if err != nil || translated == strings.TrimSpace(m[2]) {
			return p.part, err
		}
		return "{{" + m[1] + " " + translated + " " + m[3] + "}}", nil
	}
	switch word, _, _ := strings.Cut(strings.TrimSpace(m[5]), " "); word {
	case "raw":
		end := endRaw.FindStringIndex(p.src[p.next:])
		if end == nil {
			return "", errors.New("it has no end")
		}
		from := p.next
		p.next += end[1]
		return p.part + p.src[from:p.next], nil
	case "if":
		return p.inlineChoice(strings.TrimSpace(m[5])[2:])
	case "for":
		return "", errors.New("a text has no statements: {{ map(LIST, #.name) | join(', ') }}, or a template file")
	}
	return "", errStatement
}

// expression translates the content of {{ }}.
func (p *playbookText) expression(src string) (string, error) {
	n, err := parseExpression(src, true)
	if err != nil {
		return "", err
	}
	w := &exprPrinter{Translator: p.Translator}
	printed := w.value(n)
	if !p.single {
		walk(n, func(n node) {
			if n == name("omit") {
				w.fail("omit leaves out an argument, and cannot be a part of one")
			}
		})
	}
	if f, ok := bare(n).(filter); ok && f.name == "splitext" && p.single {
		w.note("splitext: a list, where Ansible has a text that shows the parts")
	}
	if p.single {
		if w.kindOf(n) == KindFloat {
			w.checkPrinted(n)
		}
	} else if w.kindOf(n) == KindBool {
		printed = w.asText(n)
	} else {
		w.checkPrinted(n)
	}
	if w.err != nil {
		return "", w.err
	}
	for _, note := range w.notes {
		p.problem(errors.New(note), true)
	}
	if (p.single || w.kindOf(n) != KindBool) && unchanged(n) && !strings.Contains(src, `\`) && !renamed.MatchString(quoted.ReplaceAllString(src, `""`)) {
		return strings.TrimSpace(src), nil
	}
	return strings.TrimSuffix(strings.TrimPrefix(outer(printed), " "), " "), nil
}

// outer strips parentheses around a whole expression.
func outer(s string) string {
	if strings.HasPrefix(s, "(") && closes(s) == len(s)-1 {
		return s[1 : len(s)-1]
	}
	return s
}

var endRaw = regexp.MustCompile(`\{%-?\s*endraw\s*-?%\}`)

// errStatement is the error for statements, which only template files can have.
var errStatement = errors.New("a text has no statements: {{ CONDITION ? A : B }}, or a template file")

// inlineChoice translates an if statement whose branches contain no statement. It drops
// the line feed behind a statement, as Ansible does.
func (p *playbookText) inlineChoice(cond string) (string, error) {
	var branches [2][]string
	at := 0
	for fresh := true; ; {
		m := part.FindStringSubmatchIndex(p.src[p.next:])
		if m == nil {
			return "", errors.New("it has no end")
		}
		literal := p.src[p.next : p.next+m[0]]
		if fresh {
			literal = strings.TrimPrefix(literal, "\n")
		}
		if literal != "" {
			branches[at] = append(branches[at], strconv.Quote(literal))
		}
		whole := p.src[p.next+m[0] : p.next+m[1]]
		p.next += m[1]
		fresh = !strings.HasPrefix(whole, "{{")
		groups := part.FindStringSubmatch(whole)
		if strings.ContainsAny(groups[1]+groups[3]+groups[4]+groups[6], "+-") {
			return "", errors.New("a text has no signs for white space: {{ CONDITION ? A : B }}, or a template file")
		}
		switch word := strings.TrimSpace(groups[5]); {
		case strings.HasPrefix(whole, "{{"):
			n, err := parseExpression(groups[2], true)
			if err != nil {
				return "", err
			}
			w := &exprPrinter{Translator: p.Translator}
			branches[at] = append(branches[at], w.asText(n))
			if w.err != nil {
				return "", w.err
			}
			for _, note := range w.notes {
				p.problem(errors.New(note), true)
			}
		case strings.HasPrefix(whole, "{#"):
		case word == "else" && at == 0:
			at = 1
		case word == "endif":
			if strings.HasPrefix(p.src[p.next:], "\n") {
				p.next++
			}
			return p.chosen(cond, branches)
		default:
			return "", errStatement
		}
	}
}

// chosen prints a conditional of two texts.
func (p *playbookText) chosen(cond string, branches [2][]string) (string, error) {
	c, notes, err := p.Condition(cond)
	if err != nil {
		return "", err
	}
	for _, note := range notes {
		p.problem(errors.New(note), true)
	}
	if !isAtom(c) {
		c = "(" + c + ")"
	}
	var branchTexts [2]string
	for i, b := range branches {
		branchTexts[i] = strings.Join(b, " + ")
		if len(b) == 0 {
			branchTexts[i] = `""`
		}
		if len(b) > 1 {
			branchTexts[i] = "(" + branchTexts[i] + ")"
		}
	}
	return "{{ " + c + " ? " + branchTexts[0] + " : " + branchTexts[1] + " }}", nil
}
