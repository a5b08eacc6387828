package jinja

import (
	"errors"
	"fmt"
	"regexp"
	"strings"
)

// Problem is a part of a text that could not be translated.
type Problem struct {
	Line int // from 1
	Text string
	Err  error
	// Differs is true for a part that was translated, but differs from Ansible.
	Differs bool
}

func (p Problem) Error() string { return fmt.Sprintf("%s: %v", shorten(p.Text), p.Err) }

// part matches {{ }}, {% %} or {# #}, with their signs for white space.
var part = regexp.MustCompile(`(?s)\{\{([-+]?)(.*?)([-+]?)\}\}|\{%([-+]?)(.*?)([-+]?)%\}|\{#([-+]?)(.*?)([-+]?)#\}`)

// Text translates a template file into one of text/template. A part without a translation
// stays unchanged and is a problem. Variables are written without a dot, {{ port }}, but for
// those whose name is a function or keyword there.
func (tr Translator) Text(src string) (string, []Problem) {
	t := &translation{keeps: keepsLines.MatchString(header.FindString(src)), w: templatePrinter{Translator: tr, depths: map[string]int{}, kinds: map[string]Kind{}}}
	t.w.KindOf = t.w.localKinds(tr.KindOf)
	t.checkHeader(header.FindString(src))
	t.src = strings.ReplaceAll(header.ReplaceAllString(src, ""), "\r\n", "\n") // as Ansible writes it
	t.own = ownLines(t.src)
	last := 0
	for last <= len(t.src) {
		m := part.FindStringSubmatchIndex(t.src[last:])
		if m == nil {
			break
		}
		for i := range m {
			if m[i] >= 0 {
				m[i] += last
			}
		}
		t.out.WriteString(t.src[last:m[0]])
		t.at = m
		last = t.piece()
	}
	t.out.WriteString(t.src[min(last, len(t.src)):])
	for _, b := range t.open {
		t.problem(b.word, errors.New("it has no end"))
	}
	return t.out.String(), t.problems
}

// Text is [Translator.Text] without knowledge about variables.
func Text(src string, needsDot func(name string) bool) (string, []Problem) {
	return Translator{NeedsDot: needsDot}.Text(src)
}

// header matches the first line of a template file that sets options of Jinja.
var header = regexp.MustCompile(`\A#jinja2:[^\n]*\n`)

var keepsLines = regexp.MustCompile(`trim_blocks:\s*["']?(?i:false)`)

// headerOption matches an option of the header.
var headerOption = regexp.MustCompile(`(\w+)\s*:`)

// checkHeader reports options that have no translation.
func (t *translation) checkHeader(line string) {
	for _, m := range headerOption.FindAllStringSubmatch(strings.TrimPrefix(line, "#jinja2:"), -1) {
		if m[1] != "trim_blocks" {
			t.problem(strings.TrimSpace(line), fmt.Errorf("there is no option %s", m[1]))
		}
	}
}

type translation struct {
	src      string
	keeps    bool // trim_blocks is off: line feeds behind statements stay
	own      map[int]bool
	out      strings.Builder
	at       []int // offsets of the current part and its groups
	open     []opened
	w        templatePrinter
	problems []Problem
}

// opened is a statement whose end is still to come.
type opened struct {
	word string
	ends int             // number of {{ end }}s it needs
	was  templatePrinter // the state of the printer before it
}

func (t *translation) problem(text string, err error) {
	line := 1
	if t.at != nil {
		line += strings.Count(t.src[:t.at[0]], "\n")
	}
	t.problems = append(t.problems, Problem{Line: line, Text: text, Err: err})
}

func (t *translation) group(i int) string {
	if t.at[2*i] < 0 {
		return ""
	}
	return t.src[t.at[2*i]:t.at[2*i+1]]
}

// piece translates one part and returns the offset at which the text continues.
func (t *translation) piece() int {
	switch whole := t.group(0); whole[1] {
	case '#':
		note := strings.TrimSpace(strings.ReplaceAll(t.group(8), "*/", "* /"))
		return t.alone(t.group(7), "/* "+note+" */", t.group(9))
	case '{':
		out, err := t.action(strings.TrimSpace(t.group(2)), true)
		if err != nil {
			t.problem(whole, err)
			t.out.WriteString(whole)
			break
		}
		t.write(t.group(1), out, t.group(3))
	default:
		return t.statement(strings.TrimSpace(t.group(5)))
	}
	return t.at[1]
}

// action translates an expression; whole is true for {{ EXPRESSION }}, false for the
// expression of a statement.
func (t *translation) action(src string, whole bool) (string, error) {
	n, err := parse(src)
	if err != nil {
		return "", err
	}
	t.w.err, t.w.notes = nil, nil
	var out string
	switch c, isChoice := bare(n).(choice); {
	case !whole:
		out = t.w.pipe(n)
	case isChoice:
		out = t.w.branches(c)
	default:
		out = t.w.printed(n)
	}
	t.noteAll()
	return out, t.w.err
}

// noteAll reports the differences of the last translation, unless it failed.
func (t *translation) noteAll() {
	if t.w.err != nil {
		return
	}
	before := len(t.problems)
	for _, note := range t.w.notes {
		t.problem(t.group(0), errors.New(note))
	}
	for i := range t.problems[before:] {
		t.problems[before+i].Differs = true
	}
}

func (t *translation) write(left, body, right string) {
	open, end := "{{ ", " }}"
	if left == "-" {
		open = "{{- "
	}
	if right == "-" {
		end = " -}}"
	}
	if strings.HasPrefix(body, "/*") {
		open, end = strings.TrimSuffix(open, " "), strings.TrimPrefix(end, " ")
		if left == "-" {
			open = "{{- "
		}
		if right == "-" {
			end = " -}}"
		}
	}
	t.out.WriteString(open + body + end)
}

// alone writes a statement and returns the offset at which the text continues. Ansible
// drops the line feed behind a statement; see [ownLines] for the one before it.
func (t *translation) alone(left, body, right string) (next int) {
	next = t.at[1]
	switch {
	case t.keeps || right != "":
	case t.own[t.at[0]]:
		left = "-"
	case strings.HasPrefix(t.src[next:], "\n") && !t.endsLastLine():
		next++
	}
	t.write(left, body, right)
	return next
}

// endsLastLine reports whether the current part ends the last line of the file, with more
// in front of it: Ansible gives the file back the line feeds that it ended with.
func (t *translation) endsLastLine() bool {
	before := t.src[:t.at[0]]
	return strings.Trim(t.src[t.at[1]:], "\n") == "" && t.at[1] < len(t.src) && strings.TrimSpace(before[strings.LastIndexByte(before, '\n')+1:]) != ""
}
