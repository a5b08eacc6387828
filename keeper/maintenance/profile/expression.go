package profile

import (
	"fmt"
	"slices"
	"strings"
)

// Expression is a condition over the names of check instances, with &&, ||, ! and brackets. && binds more tightly
// than ||.
type Expression struct {
	text string
	root node
	refs []ref
}

// ref is one mention of an instance.
type ref struct {
	name   string
	offset int // in bytes, from the start of the expression
}

// node is a part of an expression.
type node interface {
	eval(passed func(string) bool) bool
}

type (
	name   string
	not    struct{ of node }
	all    struct{ left, right node }
	either struct{ left, right node }
)

func (n name) eval(passed func(string) bool) bool { return passed(string(n)) }
func (n not) eval(passed func(string) bool) bool  { return !n.of.eval(passed) }
func (n all) eval(passed func(string) bool) bool  { return n.left.eval(passed) && n.right.eval(passed) }
func (n either) eval(passed func(string) bool) bool {
	return n.left.eval(passed) || n.right.eval(passed)
}

// String returns the text of the expression.
func (e *Expression) String() string { return e.text }

// Eval returns the value of the expression. passed returns the result of an instance.
func (e *Expression) Eval(passed func(string) bool) bool { return e.root.eval(passed) }

// Names returns the instances, each once, in the order of their first mention.
func (e *Expression) Names() []string {
	var out []string
	for _, r := range e.refs {
		if !slices.Contains(out, r.name) {
			out = append(out, r.name)
		}
	}
	return out
}

// syntaxError is an error at a place in an expression.
type syntaxError struct {
	offset int // in bytes
	msg    string
}

func (e *syntaxError) Error() string { return e.msg }

// maxDepth is the maximum number of brackets and ! around a name.
const maxDepth = 100

// parser reads an expression from left to right.
type parser struct {
	text  string
	at    int
	depth int
	refs  []ref
}

// ParseExpression reads an expression.
func ParseExpression(text string) (*Expression, error) {
	p := &parser{text: text}
	root, err := p.either()
	if err != nil {
		return nil, err
	}
	if token := p.peek(); token != "" {
		return nil, p.unexpected(token)
	}
	return &Expression{text: text, root: root, refs: p.refs}, nil
}

// operators are the characters that end a name.
const operators = "&|!()"

// peek returns the next token without taking it; empty at the end.
func (p *parser) peek() string {
	p.at += len(p.text[p.at:]) - len(strings.TrimLeft(p.text[p.at:], " \t\r\n"))
	rest := p.text[p.at:]
	switch {
	case rest == "":
		return ""
	case strings.HasPrefix(rest, "&&"), strings.HasPrefix(rest, "||"):
		return rest[:2]
	case strings.ContainsRune(operators, rune(rest[0])):
		return rest[:1]
	}
	if end := strings.IndexAny(rest, operators+" \t\r\n"); end > 0 {
		return rest[:end]
	}
	return rest
}

// take takes the next token if it is this one.
func (p *parser) take(token string) bool {
	if p.peek() != token {
		return false
	}
	p.at += len(token)
	return true
}

func (p *parser) unexpected(token string) error {
	msg := fmt.Sprintf("unexpected %q", token)
	switch token {
	case "":
		msg = "the expression ends too early: want the name of a check"
	case "&", "|":
		msg = fmt.Sprintf("want %s%s, got one %s", token, token, token)
	case ")":
		msg = "this ) closes no bracket"
	default:
		if !strings.ContainsAny(token, operators) {
			msg = fmt.Sprintf("want && or || before %q", token)
		}
	}
	return &syntaxError{p.at, msg}
}

func (p *parser) either() (node, error) {
	left, err := p.all()
	for err == nil && p.take("||") {
		var right node
		if right, err = p.all(); err == nil {
			left = either{left, right}
		}
	}
	return left, err
}

func (p *parser) all() (node, error) {
	left, err := p.one()
	for err == nil && p.take("&&") {
		var right node
		if right, err = p.one(); err == nil {
			left = all{left, right}
		}
	}
	return left, err
}

func (p *parser) one() (node, error) {
	if p.depth++; p.depth > maxDepth {
		return nil, &syntaxError{p.at, fmt.Sprintf("more than %d brackets inside each other", maxDepth)}
	}
	defer func() { p.depth-- }()
	switch token := p.peek(); {
	case p.take("!"):
		of, err := p.one()
		return not{of}, err
	case p.take("("):
		return p.bracket()
	case token == "" || strings.ContainsAny(token, operators):
		if token == ")" || token == "&&" || token == "||" {
			return nil, &syntaxError{p.at, fmt.Sprintf("want the name of a check before %s", token)}
		}
		return nil, p.unexpected(token)
	default:
		p.refs = append(p.refs, ref{token, p.at})
		p.at += len(token)
		return name(token), nil
	}
}

// bracket reads the rest of a bracket.
func (p *parser) bracket() (node, error) {
	open := p.at - 1
	inner, err := p.either()
	if err != nil {
		return nil, err
	}
	switch token := p.peek(); {
	case p.take(")"):
		return inner, nil
	case token == "":
		return nil, &syntaxError{open, "this ( is not closed"}
	default:
		return nil, p.unexpected(token)
	}
}

// parseList reads the names of instances that are joined with &&. An empty text has none.
func parseList(text, kind string) ([]ref, error) {
	if strings.TrimSpace(text) == "" {
		return nil, nil
	}
	var out []ref
	offset := 0
	for part := range strings.SplitSeq(text, "&&") {
		name := strings.TrimSpace(part)
		at := offset + len(part) - len(strings.TrimLeft(part, " \t\r\n"))
		offset += len(part) + len("&&")
		switch {
		case name == "":
			return nil, &syntaxError{at, fmt.Sprintf("want the name of a %s", kind)}
		case strings.ContainsAny(name, operators+" \t\r\n"):
			return nil, &syntaxError{at, fmt.Sprintf("%q is not the name of a %s; names are joined with && only", name, kind)}
		}
		out = append(out, ref{name, at})
	}
	return out, nil
}
