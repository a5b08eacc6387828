package dialect

import (
	"errors"
	"fmt"
	"net/url"
	"path"
	"regexp"
	"strings"
	"unicode"
)

func textFilters() map[string]filter {
	out := map[string]filter{
		"string":        {do: func(c *call) (any, error) { return Print(c.value) }},
		"lower":         text(strings.ToLower),
		"upper":         text(strings.ToUpper),
		"capitalize":    text(capitalize),
		"title":         text(func(s string) string { return eachWord(s, capitalize) }),
		"basename":      text(func(s string) string { return s[strings.LastIndexByte(s, '/')+1:] }),
		"dirname":       text(dirName),
		"quote":         text(shellWord),
		"regex_escape":  text(regexp.QuoteMeta),
		"urlencode":     text(urlEncode),
		"splitext":      {do: splitExt},
		"trim":          {do: trim, most: 1},
		"split":         {do: split, most: 2},
		"replace":       {do: replace, most: 3},
		"indent":        {do: indent, most: 3},
		"comment":       {do: comment, most: 2},
		"regex_replace": {do: regexReplace, most: 4},
		"regex_search":  {do: regexSearch, most: -1},
		"regex_findall": {do: regexFindAll, most: 3},
	}
	return out
}

// text makes a filter of a function of one text. Values of other types are printed first.
func text(f func(string) string) filter {
	return filter{do: func(c *call) (any, error) {
		s, err := Print(c.value)
		if err != nil {
			return nil, err
		}
		return f(s), nil
	}}
}

func capitalize(s string) string {
	rs := []rune(strings.ToLower(s))
	if len(rs) > 0 {
		rs[0] = unicode.ToUpper(rs[0])
	}
	return string(rs)
}

var plainWord = regexp.MustCompile(`^[A-Za-z0-9_@%+=:,./-]+$`)

// shellWord quotes a text for a POSIX shell, in the same form as Python's shlex.quote, so
// that a file does not change.
func shellWord(s string) string {
	if plainWord.MatchString(s) {
		return s
	}
	return "'" + strings.ReplaceAll(s, "'", `'"'"'`) + "'"
}

// dirName returns the path before the last slash, as Python's os.path.dirname does.
func dirName(s string) string {
	head := s[:strings.LastIndexByte(s, '/')+1]
	if trimmed := strings.TrimRight(head, "/"); trimmed != "" {
		return trimmed
	}
	return head
}

// urlEncode escapes a text for the path of a URL: slashes stay, a blank is %20.
func urlEncode(s string) string {
	return strings.NewReplacer("+", "%20", "%2F", "/", "%7E", "~").Replace(url.QueryEscape(s))
}

var wordText = regexp.MustCompile(`[\pL\pN']+`)

func eachWord(s string, f func(string) string) string { return wordText.ReplaceAllStringFunc(s, f) }

func splitExt(c *call) (any, error) {
	s, err := Print(c.value)
	ext := path.Ext(path.Base(s))
	if ext == path.Base(s) {
		ext = "" // .bashrc has no extension
	}
	return []any{strings.TrimSuffix(s, ext), ext}, err
}

func trim(c *call) (any, error) {
	s, err := Print(c.value)
	if err != nil {
		return nil, err
	}
	chars, err := c.text(0, "chars", " \t\r\n\f\v")
	return strings.Trim(s, chars), err
}

func split(c *call) (any, error) {
	s, err := Print(c.value)
	if err != nil {
		return nil, err
	}
	by, err := c.text(0, "sep", "")
	if err != nil {
		return nil, err
	}
	most, err := c.number(1, "maxsplit", -1)
	if err != nil {
		return nil, err
	}
	if most < 0 {
		cost := splitCost(s, by)
		if by == "" {
			cost = BoundList(countFields(s))
		}
		if cost != nil {
			return nil, cost
		}
	}
	var parts []string
	switch {
	case by == "":
		parts = strings.Fields(s)
	case most >= 0:
		parts = strings.SplitN(s, by, most+1)
	default:
		parts = strings.Split(s, by)
	}
	return plain(parts), nil
}

// countFields returns the number of words between white space.
func countFields(s string) int {
	n := 0
	for range strings.FieldsSeq(s) {
		n++
	}
	return n
}

func replace(c *call) (any, error) {
	s, err := Print(c.value)
	if err != nil {
		return nil, err
	}
	old, err := c.text(0, "old", "")
	if err != nil {
		return nil, err
	}
	with, err := c.text(1, "new", "")
	if err != nil {
		return nil, err
	}
	most, err := c.number(2, "count", -1)
	if err := errors.Join(err, replaceCost(s, old, with, most)); err != nil {
		return nil, err
	}
	return strings.Replace(s, old, with, most), nil
}

// widest is the maximum indentation, in characters.
const widest = 1000

// indent indents all lines but the first and empty ones.
func indent(c *call) (any, error) {
	s, err := Print(c.value)
	if err != nil {
		return nil, err
	}
	width, err := c.number(0, "width", 4)
	if err != nil || width < 0 || width > widest {
		return nil, errors.Join(err, fmt.Errorf("width: want a number from 0 to %d", widest))
	}
	if err := indentCost([]any{width, s}); err != nil {
		return nil, err
	}
	first, blank := c.flag(1, "first"), c.flag(2, "blank")
	lines := strings.Split(s, "\n")
	for i, line := range lines {
		if (i > 0 || first) && (line != "" || blank) {
			lines[i] = strings.Repeat(" ", width) + line
		}
	}
	return strings.Join(lines, "\n"), nil
}
