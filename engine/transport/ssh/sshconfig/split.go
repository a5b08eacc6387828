package sshconfig

import (
	"errors"
	"fmt"
	"strings"
)

// split splits a line: a keyword, one = or white space, arguments. An argument may stand
// in double or single quotes; a # outside of them begins a comment. The keyword is empty
// for a blank line or comment.
func split(raw string) (keyword string, args []string, err error) {
	raw = strings.TrimRight(raw, " \t\r\n\f")
	raw = strings.TrimLeft(raw, " \t")
	if raw == "" || raw[0] == '#' {
		return "", nil, nil
	}
	end := strings.IndexAny(raw, " \t=")
	if end < 0 {
		end = len(raw)
	}
	rest := strings.TrimLeft(raw[end:], " \t")
	rest = strings.TrimLeft(strings.TrimPrefix(rest, "="), " \t")
	keyword = strings.ToLower(strings.Trim(raw[:end], `"`))
	if verbatim[keyword] {
		// The value is a command for a shell, which interprets the quotes.
		return keyword, []string{rest}, nil
	}
	args, err = arguments(rest)
	if err == nil && len(args) == 0 {
		err = fmt.Errorf("%s has no value", raw[:end])
	}
	return keyword, args, err
}

// verbatim are the keywords whose value is the rest of the line.
var verbatim = map[string]bool{"proxycommand": true, "localcommand": true, "remotecommand": true, "knownhostscommand": true}

func arguments(s string) ([]string, error) {
	var args []string
	for {
		s = strings.TrimLeft(s, " \t")
		if s == "" || s[0] == '#' {
			return args, nil
		}
		arg, n, err := argument(s)
		if err != nil {
			return nil, err
		}
		args, s = append(args, arg), s[n:]
	}
}

// argument parses one argument and returns its length in s.
func argument(s string) (arg string, length int, err error) {
	var out strings.Builder
	quote := byte(0)
	i := 0
	for ; i < len(s); i++ {
		c := s[i]
		switch {
		case c == '\\' && i+1 < len(s) && escapes(s[i+1], quote):
			i++
			out.WriteByte(s[i])
		case quote == 0 && (c == ' ' || c == '\t'):
			return out.String(), i, nil
		case quote == 0 && (c == '"' || c == '\''):
			quote = c
		case quote != 0 && c == quote:
			quote = 0
		default:
			out.WriteByte(c)
		}
	}
	if quote != 0 {
		return "", 0, errors.New("a quotation mark is missing")
	}
	return out.String(), i, nil
}

// escapes reports whether a backslash escapes a character; before other characters it
// stands for itself.
func escapes(c, quote byte) bool {
	return c == '"' || c == '\'' || c == '\\' || c == ' ' && quote == 0
}
