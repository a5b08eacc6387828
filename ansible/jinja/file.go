package jinja

import (
	"errors"
	"fmt"
	"regexp"
	"strings"
)

// Problem is what stays as it was in a translated text, and why.
type Problem struct {
	Line int // in the text, from 1
	Text string
	Err  error
}

func (p Problem) Error() string { return fmt.Sprintf("%s: %v", shorten(p.Text), p.Err) }

// part is a piece of a text of Jinja: {{ }}, {% %} or {# #}, with their signs for
// white space.
var part = regexp.MustCompile(`(?s)\{\{([-+]?)(.*?)([-+]?)\}\}|\{%([-+]?)(.*?)([-+]?)%\}|\{#([-+]?)(.*?)([-+]?)#\}`)

// Text translates a text, or a template file, into one of text/template. What
// cannot be translated stands in the result as it was, in a comment when it is a
// statement, and is a problem.
func Text(src string) (string, []Problem) {
	t := &translation{keeps: keepsLines.MatchString(header.FindString(src))}
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
		t.problem(b.word, errors.New("it does not end"))
	}
	return t.out.String(), t.problems
}

// header is the line of a template file that says how Jinja is to be read.
var header = regexp.MustCompile(`\A#jinja2:[^\n]*\n`)

var keepsLines = regexp.MustCompile(`trim_blocks:\s*["']?(?i:false)`)

type translation struct {
	src      string
	keeps    bool // line feeds after statements stay
	out      strings.Builder
	at       []int // the piece, and its groups
	open     []opened
	w        texts
	problems []Problem
}

// opened is a statement that wants an end.
type opened struct {
	word string
	ends int   // how many it needs
	was  texts // names before it
	// exact is true when the line feed after its statements is dropped, and not
	// the one before.
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

// piece translates one piece and returns where the text goes on.
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

// action translates an expression; whole is true for one that stands for itself,
// and is no part of a statement.
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

// alone writes a statement, and returns where the text goes on. Ansible drops the
// line feed after one. Of a statement that has its line for itself the line feed
// before it is dropped here, which reads better; exactly is for the others, and for
// the ends of blocks that began so.
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
