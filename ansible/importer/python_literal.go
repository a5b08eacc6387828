package importer

import (
	"errors"
	"strconv"
	"strings"
)

// pythonLiteral evaluates a text as Python's ast.literal_eval does, which Ansible applies
// to the values of INI inventories: numbers, quoted texts, True, False, None, lists,
// tuples and mappings, with a comment behind them. Any other text is itself: yes, 1.2.3
// and a word with a comment behind it stay as they are.
func pythonLiteral(text string) scalar {
	p := literalParser{rest: strings.TrimLeft(text, " \t")}
	v, err := p.tuple("")
	p.blanks()
	if err != nil || p.rest != "" {
		return scalar{v: text}
	}
	return scalar{v: v, remark: p.remark}
}

// scalar is a value and what of it has no equal here; empty when nothing.
type scalar struct {
	v      any
	remark string
}

var errNoLiteral = errors.New("not a literal of Python")

// maxNesting bounds the depth of lists and mappings. Python's own parser gives up at 200
// open brackets.
const maxNesting = 200

type literalParser struct {
	rest   string
	depth  int
	remark string
}

// blanks skips blanks and a comment.
func (p *literalParser) blanks() {
	p.rest = strings.TrimLeft(p.rest, " \t\f")
	if strings.HasPrefix(p.rest, "#") {
		p.rest = ""
	}
}

// take skips blanks and a token, and reports whether it stands there.
func (p *literalParser) take(token string) bool {
	p.blanks()
	rest, ok := strings.CutPrefix(p.rest, token)
	if ok {
		p.rest = rest
	}
	return ok
}

// tuple parses one value, or several with commas between them up to the token end. It
// does not take end.
func (p *literalParser) tuple(end string) (any, error) {
	first, err := p.item()
	if err != nil {
		return nil, err
	}
	if !p.take(",") {
		return first, nil
	}
	rest, err := p.items(end)
	return append([]any{first}, rest...), err
}

// items parses values with commas between and behind them, up to the token end or the end
// of the text.
func (p *literalParser) items(end string) ([]any, error) {
	out := []any{}
	for {
		p.blanks()
		if p.rest == "" || end != "" && strings.HasPrefix(p.rest, end) {
			return out, nil
		}
		v, err := p.item()
		if err != nil {
			return nil, err
		}
		out = append(out, v)
		if !p.take(",") {
			return out, nil
		}
	}
}

func (p *literalParser) item() (any, error) {
	if p.depth++; p.depth > maxNesting {
		return nil, errNoLiteral
	}
	defer func() { p.depth-- }()
	switch {
	case p.take("("):
		return p.parenthesis()
	case p.take("["):
		v, err := p.items("]")
		return v, p.end("]", err)
	case p.take("{"):
		return p.braces()
	case p.take("-"):
		return p.signed(true)
	case p.take("+"):
		return p.signed(false)
	}
	for word, v := range map[string]any{"True": true, "False": false, "None": nil} {
		if rest, ok := strings.CutPrefix(p.rest, word); ok && !startsWithWord(rest) {
			p.rest = rest
			return v, nil
		}
	}
	if p.rest != "" && (isDigit(p.rest[0]) || p.rest[0] == '.') {
		return p.number()
	}
	return p.text()
}

// end takes a closing token, unless there is an error.
func (p *literalParser) end(token string, err error) error {
	if err == nil && !p.take(token) {
		return errNoLiteral
	}
	return err
}

func (p *literalParser) parenthesis() (any, error) {
	if p.take(")") {
		return []any{}, nil
	}
	v, err := p.tuple(")")
	return v, p.end(")", err)
}

// braces parses a mapping or a set.
func (p *literalParser) braces() (any, error) {
	out := map[string]any{}
	for !p.take("}") {
		key, err := p.item()
		if err != nil {
			return nil, err
		}
		if !p.take(":") {
			if len(out) > 0 {
				return nil, errNoLiteral
			}
			return p.set(key)
		}
		v, err := p.item()
		if err != nil {
			return nil, err
		}
		name, err := p.key(key)
		if err != nil {
			return nil, err
		}
		out[name] = v
		if !p.take(",") {
			return out, p.end("}", nil)
		}
	}
	return out, nil
}

// set parses the rest of a set, which becomes a list.
func (p *literalParser) set(first any) (any, error) {
	p.remark = "a set of Python, which has no order, is a list here"
	out := []any{first}
	if p.take(",") {
		rest, err := p.items("}")
		if err != nil {
			return nil, err
		}
		out = append(out, rest...)
	}
	return out, p.end("}", nil)
}

func (p *literalParser) key(v any) (string, error) {
	name, isText := keyText(v)
	switch v.(type) {
	case []any, map[string]any:
		return "", errNoLiteral
	}
	if !isText {
		p.remark = "its key " + name + " is a text here"
	}
	return name, nil
}

// keyText returns the key of a mapping as JSON writes it, and whether it is a text.
func keyText(v any) (string, bool) {
	switch t := v.(type) {
	case string:
		return t, true
	case nil:
		return "null", false
	case bool:
		return strconv.FormatBool(t), false
	case int:
		return strconv.Itoa(t), false
	case float64:
		return floatText(t), false
	case bigInt:
		return string(t), false
	}
	return "", false
}
