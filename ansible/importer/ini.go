package importer

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"gopkg.in/yaml.v3"
)

var sectionLine = regexp.MustCompile(`^\[([^\]:]+)(?::(\w+))?\]\s*([#;].*)?$`)

// readINI parses the INI form: sections of hosts, NAME:vars and NAME:children.
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

// hostPort splits host:port; an IPv6 address without brackets and a range have no port.
func hostPort(s string) (host, port string) {
	i := strings.LastIndex(s, ":")
	if i < 0 || strings.Contains(s[i:], "]") || strings.Count(s[strings.LastIndex(s, "]")+1:], ":") > 1 {
		return s, ""
	}
	return s[:i], s[i+1:]
}

// words splits a line as a shell does; # at the start of a word begins a comment.
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

// literal parses a value as Ansible does, as a Python literal where possible: a
// number, True, False, None, a quoted text, a list or a mapping; otherwise a text.
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
