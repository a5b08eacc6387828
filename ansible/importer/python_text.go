package importer

import (
	"strconv"
	"strings"
)

// text parses one or more texts in quotes, which Python joins.
func (p *literalParser) text() (any, error) {
	var out strings.Builder
	kind := byte(0) // b for bytes, u for text
	for {
		p.blanks()
		prefix, quote, ok := p.opening()
		if !ok {
			break
		}
		now := byte('u')
		if strings.Contains(prefix, "b") {
			now = 'b'
		}
		if kind != 0 && kind != now {
			return nil, errNoLiteral
		}
		kind = now
		if err := p.quoted(&out, quote, strings.Contains(prefix, "r"), now == 'b'); err != nil {
			return nil, err
		}
	}
	if kind == 0 {
		return nil, errNoLiteral
	}
	return out.String(), nil
}

// opening takes the prefix and the quotes that open a text.
func (p *literalParser) opening() (prefix, quote string, ok bool) {
	i := strings.IndexAny(p.rest, `'"`)
	if i < 0 {
		return "", "", false
	}
	switch prefix = strings.ToLower(p.rest[:i]); prefix {
	case "", "r", "u", "b", "br", "rb":
	default:
		return "", "", false
	}
	quote = p.rest[i : i+1]
	if strings.HasPrefix(p.rest[i:], strings.Repeat(quote, 3)) {
		quote = strings.Repeat(quote, 3)
	}
	p.rest = p.rest[i+len(quote):]
	return prefix, quote, true
}

// quoted reads up to the closing quotes.
func (p *literalParser) quoted(out *strings.Builder, quote string, raw, bytes bool) error {
	for p.rest != "" {
		if rest, ok := strings.CutPrefix(p.rest, quote); ok {
			p.rest = rest
			return nil
		}
		if p.rest[0] != '\\' {
			out.WriteByte(p.rest[0])
			p.rest = p.rest[1:]
			continue
		}
		if len(p.rest) < 2 {
			return errNoLiteral
		}
		if raw {
			out.WriteString(p.rest[:2])
			p.rest = p.rest[2:]
			continue
		}
		if err := p.escape(out, bytes); err != nil {
			return err
		}
	}
	return errNoLiteral
}

var simpleEscapes = map[byte]string{'\\': `\`, '\'': "'", '"': `"`, 'a': "\a", 'b': "\b", 'f': "\f", 'n': "\n", 'r': "\r", 't': "\t", 'v': "\v"}

// escape reads a backslash and what belongs to it. An unknown escape stays as it is.
func (p *literalParser) escape(out *strings.Builder, bytes bool) error {
	c := p.rest[1]
	if plain, ok := simpleEscapes[c]; ok {
		out.WriteString(plain)
		p.rest = p.rest[2:]
		return nil
	}
	if c >= '0' && c <= '7' {
		n := 2
		for n < len(p.rest) && n < 4 && p.rest[n] >= '0' && p.rest[n] <= '7' {
			n++
		}
		return p.rune(out, p.rest[1:n], 8, n)
	}
	digits, known := map[byte]int{'x': 2, 'u': 4, 'U': 8}[c]
	if !known || bytes && c != 'x' {
		if c == 'N' && !bytes {
			return errNoLiteral // a character by its name
		}
		out.WriteByte('\\')
		p.rest = p.rest[1:]
		return nil
	}
	if len(p.rest) < 2+digits {
		return errNoLiteral
	}
	return p.rune(out, p.rest[2:2+digits], 16, 2+digits)
}

func (p *literalParser) rune(out *strings.Builder, digits string, base, length int) error {
	n, err := strconv.ParseUint(digits, base, 32)
	if err != nil || n > 0x10ffff {
		return errNoLiteral
	}
	out.WriteRune(rune(n))
	p.rest = p.rest[length:]
	return nil
}
