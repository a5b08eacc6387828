package dialect

import (
	"fmt"
	"regexp"
	"strings"
)

// Piece is a part of a text: a literal, or an expression in {{ }}.
type Piece struct {
	Text string
	Expr bool
	// Offset is the position of the piece in the text, in bytes.
	Offset int
}

// TextError is an error in a text, with its place.
type TextError struct {
	Offset int // in bytes
	Msg    string
}

func (e *TextError) Error() string { return e.Msg }

var (
	rawBegin  = regexp.MustCompile(`^\{%([-+]?)\s*raw\s*([-+]?)%\}`)
	rawEnd    = regexp.MustCompile(`\{%([-+]?)\s*endraw\s*([-+]?)%\}`)
	statement = regexp.MustCompile(`^\{%[-+]?\s*(if|elif|else|endif|for|endfor|set|include|macro|block|extends|import|from|filter|endraw)\b`)
	opening   = regexp.MustCompile(`\{\{|\{%`)
)

// IsText reports whether a text contains more than a literal.
func IsText(s string) bool {
	for rest := s; ; {
		at := opening.FindStringIndex(rest)
		if at == nil {
			return false
		}
		rest = rest[at[0]:]
		if strings.HasPrefix(rest, "{{") || rawBegin.MatchString(rest) || statement.MatchString(rest) {
			return true
		}
		rest = rest[2:]
	}
}

// Split splits a text into literals and expressions. {{- and -}} drop the white space
// beside them, and the content of {% raw %} and {% endraw %} is literal. The error is a
// *TextError.
func Split(text string) ([]Piece, error) {
	s := &splitter{text: text}
	for s.at < len(text) {
		next := opening.FindStringIndex(text[s.at:])
		if next == nil {
			break
		}
		s.literal(text[s.at:s.at+next[0]], s.at)
		s.at += next[0]
		if err := s.special(); err != nil {
			return nil, err
		}
	}
	s.literal(text[s.at:], s.at)
	return s.pieces, nil
}

type splitter struct {
	text   string
	at     int
	trim   bool // white space that comes next is dropped
	pieces []Piece
}

// literal adds a literal; two literals in a row become one.
func (s *splitter) literal(text string, offset int) {
	if s.trim {
		left := strings.TrimLeft(text, " \t\r\n")
		offset += len(text) - len(left)
		text = left
	}
	if text == "" {
		return
	}
	s.trim = false
	if n := len(s.pieces); n > 0 && !s.pieces[n-1].Expr {
		s.pieces[n-1].Text += text
		return
	}
	s.pieces = append(s.pieces, Piece{Text: text, Offset: offset})
}

// trimLast drops white space before {{-.
func (s *splitter) trimLast() {
	n := len(s.pieces) - 1
	if n < 0 || s.pieces[n].Expr {
		return
	}
	if s.pieces[n].Text = strings.TrimRight(s.pieces[n].Text, " \t\r\n"); s.pieces[n].Text == "" {
		s.pieces = s.pieces[:n]
	}
}

// special reads a part that begins with {{ or {%.
func (s *splitter) special() error {
	rest := s.text[s.at:]
	if strings.HasPrefix(rest, "{{") {
		return s.expression()
	}
	if m := rawBegin.FindStringSubmatch(rest); m != nil {
		return s.raw(m)
	}
	if m := statement.FindString(rest); m != "" {
		return &TextError{s.at, "statements stand in template files only"}
	}
	s.literal("{%", s.at)
	s.at += 2
	return nil
}

func (s *splitter) raw(begin []string) error {
	from := s.at + len(begin[0])
	end := rawEnd.FindStringSubmatchIndex(s.text[from:])
	if end == nil {
		return &TextError{s.at, "{% raw %} without {% endraw %}"}
	}
	if begin[1] == "-" {
		s.trimLast()
	}
	inner := s.text[from : from+end[0]]
	s.trim = begin[2] == "-"
	if s.text[from+end[2]:from+end[3]] == "-" {
		inner = strings.TrimRight(inner, " \t\r\n")
	}
	s.literal(inner, from)
	s.trim = s.text[from+end[4]:from+end[5]] == "-"
	s.at = from + end[1]
	return nil
}

// expression reads {{ ... }}. Braces of mappings and text in quotes do not end it.
func (s *splitter) expression() error {
	from := s.at + 2
	if strings.HasPrefix(s.text[from:], "-") {
		s.trimLast()
		from++
	}
	s.trim = false
	end := expressionEnd(s.text, from)
	if end < 0 {
		return &TextError{s.at, "{{ has no }}; for the characters themselves write {{ '{{' }}, or {% raw %} and {% endraw %} around the text"}
	}
	s.at = end + 2
	src := s.text[from:end]
	if strings.HasSuffix(src, "-") {
		src, s.trim = src[:len(src)-1], true
	}
	left := strings.TrimLeft(src, " \t\r\n")
	from += len(src) - len(left)
	src = strings.TrimRight(left, " \t\r\n")
	if src == "" {
		return &TextError{from, "an expression is missing in {{ }}"}
	}
	s.pieces = append(s.pieces, Piece{Text: src, Expr: true, Offset: from})
	return nil
}

// expressionEnd returns the place of the }} of an expression; -1 when it is missing.
func expressionEnd(text string, from int) int {
	depth := 0
	for i := from; i < len(text); i++ {
		switch c := text[i]; c {
		case '\'', '"', '`':
			if i = quoteEnd(text, i); i < 0 {
				return -1
			}
		case '{':
			depth++
		case '}':
			if depth > 0 {
				depth--
			} else if i+1 < len(text) && text[i+1] == '}' {
				return i
			}
		}
	}
	return -1
}

// quoteEnd returns the end of the quoted text that begins at from; -1 when it has none.
func quoteEnd(text string, from int) int {
	for i := from + 1; i < len(text); i++ {
		switch {
		case text[i] == '\\' && text[from] != '`':
			i++
		case text[i] == text[from]:
			return i
		}
	}
	return -1
}

// Literal returns a text that [Split] reads as the literal s.
func Literal(s string) string {
	return opening.ReplaceAllStringFunc(s, func(open string) string { return fmt.Sprintf("{{ '%s' }}", open) })
}
