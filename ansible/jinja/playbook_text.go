package jinja

import (
	"errors"
	"regexp"
	"strconv"
	"strings"
)

// PlaybookText translates a text of a playbook or inventory. Expressions that mean the
// same in deployer stay as they are written, others are translated. A part without a
// translation stays unchanged and is a problem.
func PlaybookText(src string) (string, []Problem) {
	var out strings.Builder
	var problems []Problem
	last := 0
	for last < len(src) {
		m := part.FindStringSubmatchIndex(src[last:])
		if m == nil {
			break
		}
		from, to := last+m[0], last+m[1]
		out.WriteString(src[last:from])
		whole := src[from:to]
		last = to
		translated, next, err := playbookPart(src, whole, to)
		if err != nil {
			problems = append(problems, Problem{Line: 1 + strings.Count(src[:from], "\n"), Text: whole, Err: err})
			translated = whole
		} else {
			last = next
		}
		out.WriteString(translated)
	}
	out.WriteString(src[last:])
	return out.String(), problems
}

// playbookPart translates {{ }}, {% %} or {# #}; after is the offset in src at which the
// rest begins.
func playbookPart(src, whole string, next int) (translated string, after int, err error) {
	m := part.FindStringSubmatch(whole)
	switch {
	case strings.HasPrefix(whole, "{#"):
		return "", next, nil
	case strings.HasPrefix(whole, "{{"):
		translated, err = PlaybookExpression(m[2])
		if translated == strings.TrimSpace(m[2]) {
			return whole, next, err
		}
		return "{{" + m[1] + " " + translated + " " + m[3] + "}}", next, err
	}
	switch word, _, _ := strings.Cut(strings.TrimSpace(m[5]), " "); word {
	case "raw":
		end := endRaw.FindStringIndex(src[next:])
		if end == nil {
			return "", next, errors.New("it has no end")
		}
		return whole + src[next:next+end[1]], next + end[1], nil
	case "if":
		return inlineChoice(src, strings.TrimSpace(m[5])[2:], next)
	case "for":
		return "", next, errors.New("a text has no statements: {{ map(LIST, #.name) | join(', ') }}, or a template file")
	}
	return "", next, errStatement
}

var endRaw = regexp.MustCompile(`\{%-?\s*endraw\s*-?%\}`)

// errStatement is the error for statements, which only template files can have.
var errStatement = errors.New("a text has no statements: {{ CONDITION ? A : B }}, or a template file")

// inlineChoice translates an if statement whose branches contain no statement. inlineChoice drops
// the line feed behind a statement, as Ansible does.
func inlineChoice(src, cond string, next int) (translated string, after int, err error) {
	var branches [2][]string
	at := 0
	for fresh := true; ; {
		m := part.FindStringSubmatchIndex(src[next:])
		if m == nil {
			return "", next, errors.New("it has no end")
		}
		literal := src[next : next+m[0]]
		if fresh {
			literal = strings.TrimPrefix(literal, "\n")
		}
		if literal != "" {
			branches[at] = append(branches[at], strconv.Quote(literal))
		}
		whole := src[next+m[0] : next+m[1]]
		next += m[1]
		fresh = !strings.HasPrefix(whole, "{{")
		groups := part.FindStringSubmatch(whole)
		switch word := strings.TrimSpace(groups[5]); {
		case strings.HasPrefix(whole, "{{"):
			out, err := PlaybookExpression(groups[2])
			if err != nil {
				return "", next, err
			}
			branches[at] = append(branches[at], "string("+out+")")
		case strings.HasPrefix(whole, "{#"):
		case word == "else" && at == 0:
			at = 1
		case word == "endif":
			if strings.HasPrefix(src[next:], "\n") {
				next++
			}
			out, err := chosen(cond, branches)
			return out, next, err
		default:
			return "", next, errStatement
		}
	}
}

// chosen prints a conditional of two texts.
func chosen(cond string, branches [2][]string) (string, error) {
	c, err := Condition(cond)
	if err != nil {
		return "", err
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

// PlaybookExpression translates the content of {{ }} in a text.
func PlaybookExpression(src string) (string, error) {
	n, err := parse(src)
	if err != nil {
		return "", err
	}
	if unchanged(n) && !renamed.MatchString(quoted.ReplaceAllString(src, `""`)) {
		return strings.TrimSpace(src), nil
	}
	return write(func(w *exprPrinter) string { return w.value(n) })
}
