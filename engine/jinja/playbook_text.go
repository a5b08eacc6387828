package jinja

import (
	"errors"
	"regexp"
	"strconv"
	"strings"

	"deployer/engine/lang"
)

// PlaybookText translates a text of a playbook or of variables of Ansible. What means
// the same here stays as it is written; other expressions are those of expr, with the
// same value. What cannot be translated stays as it was and is a problem.
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
		said, next, err := playbookPart(src, whole, to)
		if err != nil {
			problems = append(problems, Problem{Line: 1 + strings.Count(src[:from], "\n"), Text: whole, Err: err})
			said = whole
		} else {
			last = next
		}
		out.WriteString(said)
	}
	out.WriteString(src[last:])
	return out.String(), problems
}

// playbookPart translates {{ }}, {% %} or {# #}; next is where the text goes on.
func playbookPart(src, whole string, next int) (said string, after int, err error) {
	m := part.FindStringSubmatch(whole)
	switch {
	case strings.HasPrefix(whole, "{#"):
		return "", next, nil
	case strings.HasPrefix(whole, "{{"):
		said, err = PlaybookExpression(m[2])
		if said == strings.TrimSpace(m[2]) {
			return whole, next, err
		}
		return "{{" + m[1] + " " + said + " " + m[3] + "}}", next, err
	}
	switch word, _, _ := strings.Cut(strings.TrimSpace(m[5]), " "); word {
	case "raw":
		end := endRaw.FindStringIndex(src[next:])
		if end == nil {
			return "", next, errors.New("it does not end")
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

// errStatement is said of what only template files can have.
var errStatement = errors.New("a text has no statements: {{ CONDITION ? A : B }}, or a template file")

// inlineChoice translates an if whose branches have no other statement. Ansible drops
// the line feed behind a statement.
func inlineChoice(src, cond string, next int) (said string, after int, err error) {
	var branches [2][]string
	at := 0
	for fresh := true; ; {
		m := part.FindStringSubmatchIndex(src[next:])
		if m == nil {
			return "", next, errors.New("it does not end")
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

// chosen prints a choice between two texts.
func chosen(cond string, branches [2][]string) (string, error) {
	c, err := Condition(cond)
	if err != nil {
		return "", err
	}
	if !isAtom(c) {
		c = "(" + c + ")"
	}
	var texts [2]string
	for i, b := range branches {
		texts[i] = strings.Join(b, " + ")
		if len(b) == 0 {
			texts[i] = `""`
		}
		if len(b) > 1 {
			texts[i] = "(" + texts[i] + ")"
		}
	}
	return "{{ " + c + " ? " + texts[0] + " : " + texts[1] + " }}", nil
}

// PlaybookExpression translates what stands in {{ }} of a text.
func PlaybookExpression(src string) (string, error) {
	n, err := parse(src)
	if err != nil {
		return "", err
	}
	if means(n) && !renamed.MatchString(quoted.ReplaceAllString(src, `""`)) {
		return strings.TrimSpace(src), nil
	}
	return write(func(w *exprs) string { return w.value(n) })
}

// renamed are words of Jinja that are written otherwise here.
var (
	renamed = regexp.MustCompile(`\b(True|False|None|none)\b`)
	quoted  = regexp.MustCompile(`'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*"`)
)

// means reports whether an expression means the same here as it is written.
func means(n node) bool {
	switch t := n.(type) {
	case nil, text, literal:
		return true
	case grouped:
		return means(t.x)
	case name, field:
		return meansPath(n)
	case slice:
		return means(t.of) && means(t.from) && means(t.to)
	case list:
		return meansAll(t)
	case dict:
		for _, p := range t {
			if _, constant := p.key.(text); !constant || !means(p.value) {
				return false
			}
		}
		return true
	case unary:
		_, compared := t.x.(binary)
		return !compared && means(t.x)
	case binary:
		return meansBinary(t)
	case filter:
		return lang.HasFilter(t.name) && means(t.of) && meansArguments(t.args)
	case call:
		return t.of == nil && isLookup(t) && meansArguments(t.args)
	}
	return false
}

func meansAll(nodes []node) bool {
	for _, n := range nodes {
		if !means(n) {
			return false
		}
	}
	return true
}

func meansArguments(a arguments) bool {
	for _, n := range a.named {
		if !means(n) {
			return false
		}
	}
	return meansAll(a.list)
}

func meansBinary(b binary) bool {
	switch b.op {
	case "+":
		return !isList(b.a) && !isList(b.b) && means(b.a) && means(b.b)
	case "-", "*", "/", "%", "**", "==", "!=", "<", "<=", ">", ">=":
		return means(b.a) && means(b.b)
	}
	return false
}

// meansPath: facts, other hosts and results have other names here.
func meansPath(n node) bool {
	if f, ok := n.(field); ok {
		switch key := f.key.(type) {
		case text:
			if key == "stdout_lines" || key == "stderr_lines" || key == "stat" {
				return false
			}
		case literal:
			return false // maybe a.0
		default:
			if !means(f.key) {
				return false
			}
		}
		return means(f.of)
	}
	s := string(n.(name)) //nolint:forcetypeassert // path is called with these two
	if ours, err := special(n); ours != "" || err != nil {
		return false
	}
	return s == "omit" || !strings.HasPrefix(s, "ansible_") && s != "hostvars" && s != "loop" && nothing[s] == ""
}

// isLookup reports whether a call is one of a lookup that exists here.
func isLookup(c call) bool {
	if c.name != "lookup" && c.name != "query" && c.name != "q" {
		return false
	}
	what, _ := c.args.at(0, "").(text)
	switch what[strings.LastIndexByte(string(what), '.')+1:] {
	case "file", "env", "password", "template":
		return true
	}
	return false
}
