package jinja

import (
	"errors"
	"fmt"
	"slices"
)

// parse parses an expression of Jinja. Errors are of type unreadable.
func parse(src string) (node, error) { return parseExpression(src, false) }

// parseExpression is parse; raw is explained at tokens.
func parseExpression(src string, raw bool) (n node, err error) {
	toks, err := tokens(src, raw)
	if err != nil {
		return nil, unreadable{err}
	}
	p := &parser{toks: toks}
	defer func() {
		if r := recover(); r != nil {
			wrong, ok := r.(unreadable)
			if !ok {
				panic(r)
			}
			n, err = nil, wrong
		}
	}()
	n = p.choice()
	if t := p.peek(); t.sort != 0 {
		return nil, unreadable{fmt.Errorf("cannot read on at %q", t.text)}
	}
	return n, nil
}

// unreadable is a syntax error. The parser panics with it, and parse recovers.
type unreadable struct{ error }

type parser struct {
	toks []token
	pos  int
	deep int
}

// deepest is the maximum nesting of expressions; deeper ones would exhaust the stack,
// and nobody writes them by hand.
const deepest = 200

func (p *parser) peek() token {
	if p.pos < len(p.toks) {
		return p.toks[p.pos]
	}
	return token{}
}

func (p *parser) next() token {
	t := p.peek()
	p.pos++
	return t
}

// is skips the next token and returns its text when it is one of the given operators or
// words.
func (p *parser) is(sort byte, texts ...string) (string, bool) {
	t := p.peek()
	if t.sort != sort || !slices.Contains(texts, t.text) {
		return "", false
	}
	p.pos++
	return t.text, true
}

func (p *parser) want(op string) {
	if _, ok := p.is('o', op); !ok {
		panic(unreadable{fmt.Errorf("want %q, got %q", op, p.peek().text)})
	}
}

func (p *parser) choice() node {
	if p.deep++; p.deep > deepest {
		panic(unreadable{errors.New("nested too deeply")})
	}
	defer func() { p.deep-- }()
	then := p.either()
	if _, ok := p.is('w', "if"); !ok {
		return then
	}
	cond := p.either()
	var other node = text("")
	if _, ok := p.is('w', "else"); ok {
		other = p.choice()
	}
	return choice{cond, then, other}
}

func (p *parser) either() node {
	a := p.both()
	for {
		if _, ok := p.is('w', "or"); !ok {
			return a
		}
		a = binary{"or", a, p.both()}
	}
}

func (p *parser) both() node {
	a := p.negated()
	for {
		if _, ok := p.is('w', "and"); !ok {
			return a
		}
		a = binary{"and", a, p.negated()}
	}
}

func (p *parser) negated() node {
	if _, ok := p.is('w', "not"); ok {
		if p.deep++; p.deep > deepest {
			panic(unreadable{errors.New("nested too deeply")})
		}
		defer func() { p.deep-- }()
		return unary{"not", p.negated()}
	}
	return p.compared()
}

// compared parses comparisons; a < b < c is a < b and b < c.
func (p *parser) compared() node {
	first := p.sum()
	var all node
	for a := first; ; {
		var b, n node
		if op, ok := p.is('o', "==", "!=", "<", "<=", ">", ">="); ok {
			b = p.sum()
			n = binary{op, a, b}
		} else if p.word("in") {
			b = p.sum()
			n = binary{"in", a, b}
		} else if p.peek() == (token{'w', "not"}) && p.pos+1 < len(p.toks) && p.toks[p.pos+1] == (token{'w', "in"}) {
			p.pos += 2
			b = p.sum()
			n = unary{"not", grouped{binary{"in", a, b}}}
		} else if all == nil {
			return first
		} else {
			return all
		}
		if a = b; all == nil {
			all = n
		} else {
			all = binary{"and", all, n}
		}
	}
}

func (p *parser) sum() node     { return p.chain(p.joined, "+", "-") }
func (p *parser) joined() node  { return p.chain(p.product, "~") }
func (p *parser) product() node { return p.chain(p.power, "*", "/", "//", "%") }
func (p *parser) power() node   { return p.chain(p.signed, "**") }

func (p *parser) chain(part func() node, ops ...string) node {
	a := part()
	for {
		op, ok := p.is('o', ops...)
		if !ok {
			return a
		}
		a = binary{op, a, part()}
	}
}

// signed parses a value with its sign; filters and tests apply to both.
func (p *parser) signed() node { return p.filtered(p.unsigned()) }

func (p *parser) unsigned() node {
	if p.deep++; p.deep > deepest {
		panic(unreadable{errors.New("nested too deeply")})
	}
	defer func() { p.deep-- }()
	switch {
	case p.op("-"):
		return unary{"-", p.unsigned()}
	case p.op("+"):
		return p.unsigned()
	}
	return p.suffixed(p.primary())
}
