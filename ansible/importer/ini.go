package importer

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"gopkg.in/yaml.v3"
)

var sectionLine = regexp.MustCompile(`^\[([^\]:]+)(?::(\w+))?\]\s*([#;].*)?$`)

// readINI reads the form of Ansible's ini plugin: sections of hosts, and
// sections NAME:vars and NAME:children.
func (s *Source) readINI(file, text string) error {
	group, kind := "ungrouped", "hosts"
	s.group(group)
	for i, line := range strings.Split(text, "\n") {
		at := fmt.Sprintf("%s:%d", file, i+1)
		line = strings.TrimSpace(line)
		if line == "" || line[0] == '#' || line[0] == ';' {
			continue
		}
		if line[0] == '[' && sectionLine.MatchString(line) {
			m := sectionLine.FindStringSubmatch(line)
			group, kind = m[1], m[2]
			if kind == "" {
				kind = "hosts"
			}
			s.group(group)
			continue
		}
		if err := s.iniLine(at, group, kind, line); err != nil {
			return fmt.Errorf("%s: %w", at, err)
		}
	}
	return nil
}

func (s *Source) iniLine(at, group, kind, line string) error {
	switch kind {
	case "children":
		words, err := words(line)
		if err != nil || len(words) != 1 {
			return fmt.Errorf("want the name of a group, and this is %q", line)
		}
		s.addChild(group, words[0])
	case "vars":
		name, text, ok := strings.Cut(line, "=")
		if !ok {
			return fmt.Errorf("want NAME=VALUE, and this is %q", line)
		}
		s.groupVars[group][strings.TrimSpace(name)] = value{literal(strings.TrimSpace(text)), at}
	case "hosts":
		return s.hostLine(at, group, line)
	default:
		return fmt.Errorf("there is no section of kind %q; want hosts, vars or children", kind)
	}
	return nil
}

func (s *Source) hostLine(at, group, line string) error {
	words, err := words(line)
	if err != nil {
		return err
	}
	pattern, port := hostPort(words[0])
	names, err := expand(pattern)
	if err != nil {
		return err
	}
	for _, name := range names {
		s.addHost(group, name)
		if port != "" {
			s.hostVars[name]["ansible_port"] = value{literal(port), at}
		}
		for _, w := range words[1:] {
			key, text, ok := strings.Cut(w, "=")
			if !ok {
				return fmt.Errorf("want NAME=VALUE after the host, and this is %q", w)
			}
			s.hostVars[name][key] = value{literal(text), at}
		}
	}
	return nil
}

// hostPort splits host:port, but not an IPv6 address or a range.
func hostPort(s string) (host, port string) {
	i := strings.LastIndex(s, ":")
	if i < 0 || strings.Contains(s[i:], "]") || strings.Count(s[strings.LastIndex(s, "]")+1:], ":") > 1 {
		return s, ""
	}
	return s[:i], s[i+1:]
}

// words splits a line as a shell does, with # for a comment.
func words(line string) ([]string, error) {
	var out []string
	var word strings.Builder
	begun := false
	var quote rune
	escaped := false
	for _, r := range line {
		switch {
		case escaped:
			word.WriteRune(r)
			escaped = false
		case r == '\\' && quote != '\'':
			escaped, begun = true, true
		case quote != 0 && r == quote:
			quote = 0
		case quote != 0:
			word.WriteRune(r)
		case r == '\'' || r == '"':
			quote, begun = r, true
		case r == '#' && !begun:
			return out, nil
		case r == ' ' || r == '\t':
			if begun {
				out = append(out, word.String())
				word.Reset()
				begun = false
			}
		default:
			word.WriteRune(r)
			begun = true
		}
	}
	if quote != 0 || escaped {
		return nil, fmt.Errorf("a quote is not closed in %q", line)
	}
	if begun {
		out = append(out, word.String())
	}
	return out, nil
}

// literal reads a value as Ansible does, which takes it for a Python literal
// where it is one: numbers, True, False, None, quoted texts, lists, mappings.
func literal(text string) any {
	if n, err := strconv.Atoi(text); err == nil && strconv.Itoa(n) == text {
		return n
	}
	switch text {
	case "True", "true", "yes":
		return true
	case "False", "false", "no":
		return false
	case "None":
		return nil
	}
	if text != "" && strings.ContainsRune(`[{"'`, rune(text[0])) {
		var v any
		if err := yaml.Unmarshal([]byte(text), &v); err == nil {
			return v
		}
	}
	return text
}

var rangePart = regexp.MustCompile(`\[([0-9]+|[a-zA-Z]):([0-9]+|[a-zA-Z])(?::([0-9]+))?\]`)

// expand writes out Ansible's ranges: web[01:10], db[a:f], n[0:10:2].
func expand(pattern string) ([]string, error) {
	m := rangePart.FindStringSubmatchIndex(pattern)
	if m == nil {
		if strings.ContainsAny(pattern, "[]") {
			return nil, fmt.Errorf("%q is no name of a host", pattern)
		}
		return []string{pattern}, nil
	}
	items, err := between(pattern[m[2]:m[3]], pattern[m[4]:m[5]], part(pattern, m[6], m[7]))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", pattern, err)
	}
	tails, err := expand(pattern[m[1]:])
	if err != nil {
		return nil, err
	}
	if len(items)*len(tails) > maxRange {
		return nil, fmt.Errorf("%s stands for more than %d hosts", pattern, maxRange)
	}
	var out []string
	for _, item := range items {
		for _, tail := range tails {
			out = append(out, pattern[:m[0]]+item+tail)
		}
	}
	return out, nil
}

func part(s string, from, to int) string {
	if from < 0 {
		return "1"
	}
	return s[from:to]
}

// maxRange bounds the hosts of one range.
const maxRange = 10000

func between(first, last, by string) ([]string, error) {
	step, err := strconv.Atoi(by)
	if err != nil || step < 1 {
		return nil, fmt.Errorf("the step %q of a range is not a number above 0", by)
	}
	a, errA := strconv.Atoi(first)
	b, errB := strconv.Atoi(last)
	if errA != nil || errB != nil {
		if len(first) != 1 || len(last) != 1 || errA == nil || errB == nil {
			return nil, fmt.Errorf("a range goes from number to number, or from letter to letter")
		}
		a, b = int(first[0]), int(last[0])
	}
	if b < a || (b-a)/step >= maxRange {
		return nil, fmt.Errorf("the range goes backwards or is longer than %d", maxRange)
	}
	var out []string
	for n := a; n <= b; n += step {
		if errA != nil {
			out = append(out, string(rune(n)))
			continue
		}
		out = append(out, fmt.Sprintf("%0*d", len(first), n))
	}
	return out, nil
}
