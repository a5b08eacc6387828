package jinja

import (
	"errors"
	"regexp"
	"strings"
)

var (
	forText   = regexp.MustCompile(`(?s)^for\s+([\w, ]+?)\s+in\s+(.*)$`)
	loopField = regexp.MustCompile(`\bloop\.`)
)

// loop translates for over a list, or over keys and values of a mapping.
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

// pairsOf returns the mapping of MAPPING.items(), dictsort or items when the loop has
// two variables; otherwise n.
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

// ending returns the offset of the endfor that belongs to the loop whose body begins at
// 0; the length of the text when it is missing.
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
