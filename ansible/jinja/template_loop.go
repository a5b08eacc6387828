package jinja

import (
	"errors"
	"regexp"
	"slices"
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
	over, cond, err := parseLoop(m[2])
	body := t.src[t.at[1]:]
	body = body[:ending(body)]
	t.begin("for", 1)
	if err != nil {
		return "", err
	}
	if cond != nil {
		t.open[len(t.open)-1].ends = 2
		if loopField.MatchString(body) || hasElse(body) {
			return "", errors.New("a for with a condition has neither loop nor else: filter the list in a variable of the task, with select or selectattr")
		}
	}
	vars := strings.FieldsFunc(m[1], func(r rune) bool { return r == ',' || r == ' ' })
	t.w.err, t.w.notes = nil, nil
	of := t.w.loopOver(over, len(vars))
	if t.noteAll(); t.w.err != nil {
		return "", t.w.err
	}
	t.w.index, t.w.of = "", ""
	names := "$" + strings.Join(vars, ", $")
	if len(vars) == 1 && loopField.MatchString(body) {
		t.w.index, t.w.of = "$"+t.indexName(vars[0], body), of
		if strings.Contains(of, " ") {
			t.w.of = "(" + of + ")"
		}
		names = t.w.index + ", " + names
	}
	t.w.deep = true
	loops, _ := t.depth()
	for _, v := range vars {
		t.w.locals, t.w.depths[v], t.w.kinds[v] = append(t.w.locals, v), loops, KindUnknown
	}
	out := "range " + names + " := " + of
	if cond == nil {
		return out, nil
	}
	t.w.err, t.w.notes = nil, nil
	printed := t.w.pipe(cond)
	t.noteAll()
	return out + " }}{{ if " + printed, t.w.err
}

// parseLoop parses LIST or LIST if CONDITION.
func parseLoop(src string) (over, cond node, err error) {
	if recursive.MatchString(src) {
		return nil, nil, errors.New("there are no recursive loops")
	}
	if over, err = parse(src); err == nil {
		if _, filtered := over.(choice); !filtered {
			return over, nil, nil
		}
	}
	at := strings.LastIndex(src, " if ")
	if at < 0 {
		return nil, nil, err
	}
	if over, err = parse(src[:at]); err != nil {
		return nil, nil, err
	}
	cond, err = parse(src[at+4:])
	return over, cond, err
}

var recursive = regexp.MustCompile(`\srecursive\s*$`)

// indexName returns a name for the index of a loop that no variable has.
func (t *translation) indexName(item, body string) string {
	for _, index := range []string{strings.Repeat("i", len(t.open)), "index", "position", "number_of_" + item} {
		used := index == item || slices.Contains(t.w.locals, index) || regexp.MustCompile(`\b(for|set|,)\s+`+index+`\b`).MatchString(body)
		if !used {
			return index
		}
	}
	return "index_of_" + item
}

// loopOver prints what a loop goes over. A range over a mapping would give its values.
func (w *templatePrinter) loopOver(n node, vars int) string {
	if vars == 2 {
		of := pairsOf(n)
		if of == nil {
			return w.fail("a loop with two variables goes over MAPPING.items() or MAPPING | dictsort")
		}
		w.note("%s", sortedKeys)
		return w.pipe(of)
	}
	if vars > 2 {
		return w.fail("a loop has one or two variables")
	}
	switch w.kindOf(n) {
	case KindList:
		return w.pipe(n)
	case KindMapping:
		w.note("%s", sortedKeys)
		return w.pipe(call{n, "keys", arguments{}})
	case KindUnknown:
		return w.pipe(certainList{n})
	}
	return w.fail("a loop goes over a list or mapping")
}

// pairsOf returns the mapping of MAPPING.items(), dictsort or items; nil for another value.
func pairsOf(n node) node {
	switch t := bare(n).(type) {
	case call:
		if t.of != nil && (t.name == "items" || t.name == "iteritems") {
			return t.of
		}
	case filter:
		if (t.name == "dictsort" || t.name == "items") && len(t.args.list)+len(t.args.named) == 0 {
			return t.of
		}
	}
	return nil
}

// hasElse reports whether the body of a loop has an else of the loop.
func hasElse(body string) bool {
	depth := 0
	for _, m := range part.FindAllStringSubmatch(body, -1) {
		switch word, _, _ := strings.Cut(strings.TrimSpace(m[5]), " "); word {
		case "if", "for":
			depth++
		case "endif", "endfor":
			depth--
		case "else":
			if depth == 0 {
				return true
			}
		}
	}
	return false
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
