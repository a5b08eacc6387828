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
}

func (p Problem) Error() string { return fmt.Sprintf("%s: %v", shorten(p.Text), p.Err) }

// part matches {{ }}, {% %} or {# #}, with their signs for white space.
var part = regexp.MustCompile(`(?s)\{\{([-+]?)(.*?)([-+]?)\}\}|\{%([-+]?)(.*?)([-+]?)%\}|\{#([-+]?)(.*?)([-+]?)#\}`)

// Text translates a text or template file into one of text/template. A part without a
// translation stays unchanged, a statement as a comment, and is a problem. Variables are
// written without a dot, {{ port }}, but for those whose name is a function or keyword
// there, for which needsDot returns true.
func Text(src string, needsDot func(name string) bool) (string, []Problem) {
	t := &translation{keeps: keepsLines.MatchString(header.FindString(src)), w: templatePrinter{needsDot: needsDot}}
	src = header.ReplaceAllString(src, "")
	t.src = src
	last := 0
	for last <= len(src) {
		m := part.FindStringSubmatchIndex(src[last:])
		if m == nil {
			break
		}
		for i := range m {
			if m[i] >= 0 {
				m[i] += last
			}
		}
		t.out.WriteString(src[last:m[0]])
		t.at = m
		last = t.piece()
	}
	t.out.WriteString(src[min(last, len(src)):])
	for _, b := range t.open {
		t.problem(b.word, errors.New("it has no end"))
	}
	return t.out.String(), t.problems
}

// header matches the first line of a template file that sets options of Jinja.
var header = regexp.MustCompile(`\A#jinja2:[^\n]*\n`)

var keepsLines = regexp.MustCompile(`trim_blocks:\s*["']?(?i:false)`)

type translation struct {
	src      string
	keeps    bool // trim_blocks is off: line feeds behind statements stay
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
	// exact is true when the line feed behind its statements is dropped, instead of the one
	// before.
	exact bool
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
		next, _ := t.alone(t.group(7), "/* "+strings.TrimSpace(strings.ReplaceAll(t.group(8), "*/", "* /"))+" */", t.group(9), false)
		return next
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
	t.w.err = nil
	if c, ok := bare(n).(choice); ok && whole {
		out := t.w.branches(c)
		return out, t.w.err
	}
	out := t.w.pipe(n)
	return out, t.w.err
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

// alone writes a statement and returns the offset at which the text continues.
// Ansible drops the line feed behind a statement. For a statement on a line of its
// own, the line feed before it is dropped instead (`{{-`), which is easier to read;
// exactly forbids that, as the end of a block has to match its beginning.
func (t *translation) alone(left, body, right string, exactly bool) (next int, exact bool) {
	start := strings.LastIndexByte(t.src[:t.at[0]], '\n') + 1
	before := t.src[start:t.at[0]]
	after, _, _ := strings.Cut(t.src[t.at[1]:], "\n")
	mine := strings.TrimSpace(before) == "" && strings.TrimSpace(after) == "" && left != "-" && right != "-"
	next = t.at[1]
	switch {
	case t.keeps || right != "":
	case mine && !exactly && start > 0:
		left = "-"
	case after == "" && next < len(t.src):
		next++
		exactly = true
	}
	t.write(left, body, right)
	return next, exactly
}
