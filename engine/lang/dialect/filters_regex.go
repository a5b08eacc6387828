package dialect

import (
	"fmt"
	"regexp"
)

// pattern compiles a regular expression with the flags of the call.
func (c *call) pattern(multiline, ignorecase bool) (*regexp.Regexp, error) {
	src, err := c.text(0, "pattern", "")
	if err != nil {
		return nil, err
	}
	flags := ""
	if multiline {
		flags += "m"
	}
	if ignorecase {
		flags += "i"
	}
	if flags != "" {
		src = "(?" + flags + ")" + src
	}
	re, err := regexp.Compile(src)
	if err != nil {
		return nil, fmt.Errorf("%w; patterns are those of https://github.com/google/re2/wiki/Syntax, without look-ahead and back references", err)
	}
	return re, nil
}

var groupRef = regexp.MustCompile(`\\g<(\w+)>|\\([0-9])`)

// replacementPart matches what a backslash begins in a replacement of Python.
var replacementPart = regexp.MustCompile(`\\\\|\\g<(\w+)>|\\([0-9])|\$`)

// expansion converts \1 and \g<name> to the form of Go's regexp; \\ is a backslash.
func expansion(s string) string {
	return replacementPart.ReplaceAllStringFunc(s, func(part string) string {
		switch part {
		case "$":
			return "$$"
		case `\\`:
			return `\`
		}
		return groupRef.ReplaceAllString(part, "$${$1$2}")
	})
}

func regexReplace(c *call) (any, error) {
	s, err := Print(c.value)
	if err != nil {
		return nil, err
	}
	re, err := c.pattern(c.flag(3, "multiline"), c.flag(2, "ignorecase"))
	if err != nil {
		return nil, err
	}
	with, err := c.text(1, "replacement", "")
	if err != nil {
		return nil, err
	}
	if err := regexCost(re.String(), s, expansion(with), true); err != nil {
		return nil, err
	}
	return re.ReplaceAllString(s, expansion(with)), nil
}

// regexSearch returns the match, or with named groups, as '\\1', a list of them; null
// without a match.
func regexSearch(c *call) (any, error) {
	s, err := Print(c.value)
	if err != nil {
		return nil, err
	}
	re, err := c.pattern(c.flag(-1, "multiline"), c.flag(-1, "ignorecase"))
	if err != nil {
		return nil, err
	}
	at := re.FindStringSubmatchIndex(s)
	if at == nil {
		return nil, nil
	}
	if len(c.args) < 2 {
		return s[at[0]:at[1]], nil
	}
	var out []any
	for _, group := range c.args[1:] {
		ref, _ := group.(string)
		if !groupRef.MatchString(ref) {
			return nil, fmt.Errorf(`want groups as '\\1' or '\\g<name>', got %s`, describe(group))
		}
		out = append(out, string(re.ExpandString(nil, expansion(ref), s, at)))
	}
	return out, nil
}

// submatches returns the texts at the places of a match and its groups.
func submatches(s string, at []int) []string {
	out := make([]string, len(at)/2)
	for i := range out {
		if at[2*i] >= 0 {
			out[i] = s[at[2*i]:at[2*i+1]]
		}
	}
	return out
}

// regexFindAll returns all matches: with one group the texts of the group, with several a
// list for each match.
func regexFindAll(c *call) (any, error) {
	s, err := Print(c.value)
	if err != nil {
		return nil, err
	}
	re, err := c.pattern(c.flag(1, "multiline"), c.flag(2, "ignorecase"))
	if err != nil {
		return nil, err
	}
	limit := maxDecoded / (itemWeight * (re.NumSubexp() + 2))
	found := re.FindAllStringSubmatchIndex(s, limit+1)
	if err := BoundList(len(found) * (re.NumSubexp() + 2)); err != nil {
		return nil, err
	}
	out := []any{}
	for _, at := range found {
		m := submatches(s, at)
		switch len(m) {
		case 1, 2:
			out = append(out, m[len(m)-1])
		default:
			out = append(out, plain(m[1:]))
		}
	}
	return out, nil
}
