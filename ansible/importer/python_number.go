package importer

import (
	"errors"
	"math/big"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// signed parses the number behind a sign; Python's literals have one sign at the most.
func (p *literalParser) signed(negative bool) (any, error) {
	if p.take("-") || p.take("+") {
		return nil, errNoLiteral
	}
	v, err := p.item()
	if err != nil {
		return nil, err
	}
	switch t := v.(type) {
	case int:
		if negative {
			t = -t
		}
		return t, nil
	case float64:
		if negative {
			t = -t
		}
		return t, nil
	case bigInt:
		if negative {
			t = "-" + t
		}
		return t, nil
	}
	return nil, errNoLiteral
}

// bigInt is a whole number beyond 64 bits, which Python has and variables here have not.
type bigInt string

func (p *literalParser) number() (any, error) {
	n := 0
	for n < len(p.rest) && (isWord(rune(p.rest[n])) || p.rest[n] == '.' || n > 0 && strings.ContainsRune("+-", rune(p.rest[n])) &&
		strings.ContainsRune("eE", rune(p.rest[n-1])) && !strings.HasPrefix(strings.ToLower(p.rest), "0x")) {
		n++
	}
	token := p.rest[:n]
	p.rest = p.rest[n:]
	if startsWithWord(p.rest) {
		return nil, errNoLiteral
	}
	return pythonNumber(token)
}

// pythonNumber parses a number of Python's: digits may have single underscores between
// them, and a whole number has no zero in front.
func pythonNumber(token string) (any, error) {
	plain := strings.ReplaceAll(token, "_", "")
	if strings.Contains(token, "__") || strings.HasPrefix(token, "_") || strings.HasSuffix(token, "_") {
		return nil, errNoLiteral
	}
	for prefix, base := range map[string]int{"0x": 16, "0o": 8, "0b": 2} {
		if digits, ok := strings.CutPrefix(strings.ToLower(plain), prefix); ok {
			return wholeNumber(digits, base)
		}
	}
	if strings.Trim(plain, "0123456789") == "" {
		if len(plain) > 1 && plain[0] == '0' && strings.Trim(plain, "0") != "" {
			return nil, errNoLiteral
		}
		return wholeNumber(plain, 10)
	}
	if strings.Trim(plain, "0123456789.eE+-") != "" {
		return nil, errNoLiteral
	}
	f, err := strconv.ParseFloat(plain, 64)
	if err != nil && !errors.Is(err, strconv.ErrRange) {
		return nil, errNoLiteral
	}
	return f, nil
}

// wholeNumber returns an int, or a bigInt where that is too small.
func wholeNumber(digits string, base int) (any, error) {
	n, ok := new(big.Int).SetString(digits, base)
	switch {
	case !ok:
		return nil, errNoLiteral
	case n.IsInt64():
		return int(n.Int64()), nil
	}
	return bigInt(n.String()), nil
}

func isDigit(b byte) bool { return b >= '0' && b <= '9' }

// isWord reports whether a rune may stand in a name or a number.
func isWord(r rune) bool { return r == '_' || unicode.IsLetter(r) || unicode.IsDigit(r) }

func startsWithWord(text string) bool {
	r, _ := utf8.DecodeRuneInString(text)
	return text != "" && isWord(r)
}
