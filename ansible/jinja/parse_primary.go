package jinja

import (
	"errors"
	"fmt"
	"slices"
)

// suffixed parses the fields and calls behind a value.
func (p *parser) suffixed(n node) node {
	for {
		switch {
		case p.op("."):
			n = p.dotted(n)
		case p.op("["):
			n = p.subscript(n)
		case p.op("("):
			fn, ok := n.(name)
			if !ok {
				panic(unreadable{errors.New("cannot call this")})
			}
			n = call{nil, string(fn), p.arguments(")")}
		default:
			return n
		}
	}
}

func (p *parser) dotted(n node) node {
	key := p.next()
	switch {
	case key.sort != 'w' && key.sort != 'n':
		panic(unreadable{fmt.Errorf("want a name after the dot, got %q", key.text)})
	case p.op("("):
		return call{n, key.text, p.arguments(")")}
	case key.sort == 'n':
		return field{n, literal(key.text)}
	}
	return field{n, text(key.text)}
}

// filtered parses the filters and tests behind a value.
func (p *parser) filtered(n node) node {
	for {
		switch {
		case p.op("|"):
			of, args := p.called()
			n = p.suffixed(filter{n, of, args})
		case p.word("is"):
			n = p.tested(n)
		default:
			return n
		}
	}
}

// operators are the words that can follow a value.
var operators = []string{"and", "or", "not", "in", "is", "if", "else"}

func (p *parser) tested(n node) node {
	not := p.word("not")
	name, args := p.called()
	// The parentheses may be missing: `x is version '1'`.
	t := p.peek()
	follows := t.sort == 't' || t.sort == 'n' || t.sort == 'w' && !slices.Contains(operators, t.text) || t == (token{'o', "["})
	if args.list == nil && follows {
		args.list = []node{p.suffixed(p.primary())}
	}
	var out node = test{n, name, args}
	if not {
		out = unary{"not", grouped{out}}
	}
	return out
}

// called parses the name of a filter or test and its arguments. A name with a collection
// is reduced to its last part.
func (p *parser) called() (string, arguments) {
	word := p.next()
	for word.sort == 'w' && p.op(".") {
		word = p.next()
	}
	if word.sort != 'w' {
		panic(unreadable{fmt.Errorf("want the name of a filter or test, got %q", word.text)})
	}
	if p.op("(") {
		return word.text, p.arguments(")")
	}
	return word.text, arguments{}
}

func (p *parser) subscript(of node) node {
	var from node
	if p.peek() != (token{'o', ":"}) {
		from = p.choice()
	}
	if !p.op(":") {
		p.want("]")
		return field{of, from}
	}
	var to node
	if p.peek() != (token{'o', "]"}) {
		to = p.choice()
	}
	p.want("]")
	return slice{of, from, to}
}

func (p *parser) arguments(end string) arguments {
	var out arguments
	for !p.op(end) {
		if p.peek().sort == 'w' && p.pos+1 < len(p.toks) && p.toks[p.pos+1] == (token{'o', "="}) {
			key := p.next().text
			p.pos++
			if out.named == nil {
				out.named = map[string]node{}
			}
			out.named[key] = p.choice()
		} else {
			out.list = append(out.list, p.choice())
		}
		if !p.op(",") {
			p.want(end)
			break
		}
	}
	return out
}

func (p *parser) primary() node {
	t := p.next()
	switch {
	case t.sort == 't':
		return text(t.text)
	case t.sort == 'n':
		return literal(t.text)
	case t.sort == 'w':
		if plain, ok := map[string]string{"true": "true", "True": "true", "false": "false", "False": "false", "none": "nil", "None": "nil"}[t.text]; ok {
			return literal(plain)
		}
		return name(t.text)
	case t.text == "(":
		return p.parenthesis()
	case t.text == "[":
		return list(p.arguments("]").list)
	case t.text == "{":
		return p.dict()
	case t.sort == 0:
		panic(unreadable{errors.New("it ends too early")})
	}
	panic(unreadable{fmt.Errorf("cannot read on at %q", t.text)})
}

// parenthesis parses (x), or the tuple (x, y), which becomes a list.
func (p *parser) parenthesis() node {
	args := p.arguments(")")
	if len(args.list) == 1 && p.toks[p.pos-2] != (token{'o', ","}) {
		return grouped{args.list[0]}
	}
	return list(args.list)
}

func (p *parser) dict() node {
	out := dict{}
	for !p.op("}") {
		key := p.choice()
		p.want(":")
		out = append(out, pair{key, p.choice()})
		if !p.op(",") {
			p.want("}")
			break
		}
	}
	return out
}

func (p *parser) op(text string) bool {
	_, ok := p.is('o', text)
	return ok
}

func (p *parser) word(text string) bool {
	_, ok := p.is('w', text)
	return ok
}
