package sshconfig

import (
	"os"
	"strconv"
	"strings"
)

// criterion is one condition of a Match line.
type criterion struct {
	name, value string
	negate      bool
}

// criteria parses the conditions of a Match line.
func criteria(l line) ([]criterion, error) {
	var all []criterion
	for args := l.args; len(args) > 0; {
		word, negate := strings.CutPrefix(args[0], "!")
		name, value, attached := strings.Cut(word, "=")
		c := criterion{name: strings.ToLower(name), value: value, negate: negate}
		args = args[1:]
		switch c.name {
		case "all":
			if len(args) > 0 || len(all) > 1 || len(all) == 1 && all[0].name != "canonical" && all[0].name != "final" {
				return nil, l.pos.Errorf("Match all must stand alone, or behind canonical or final")
			}
		case "canonical", "final":
		default:
			if !attached && len(args) == 0 {
				return nil, l.pos.Errorf("Match %s has no value", c.name)
			}
			if !attached {
				c.value, args = args[0], args[1:]
			}
		}
		all = append(all, c)
	}
	return all, nil
}

// match evaluates a Match line: all its conditions must be met.
func (e *evaluation) match(l line) (bool, error) {
	all, err := criteria(l)
	if err != nil {
		return false, err
	}
	result := true
	for _, c := range all {
		e.wantsFinal = e.wantsFinal || c.name == "final"
		if !result {
			continue // the other conditions do not matter, except for a pass that they request
		}
		holds, err := e.holds(l, c)
		if err != nil {
			return false, err
		}
		result = holds != c.negate
	}
	return result, nil
}

func (e *evaluation) holds(l line, c criterion) (bool, error) {
	patterns := strings.Split(c.value, ",")
	switch c.name {
	case "all":
		return true, nil
	case "canonical", "final":
		return e.final, nil
	case "host":
		return matchList(patterns, e.hostName()), nil
	case "originalhost":
		return matchList(patterns, e.q.Host), nil
	case "user":
		return matchList(patterns, e.user()), nil
	case "localuser":
		return matchList(patterns, e.q.LocalUser), nil
	case "tagged":
		return matchList(patterns, e.settings.First("tag").Text()), nil
	case "exec":
		return e.exec(l, c.value)
	}
	return false, l.pos.Errorf("Match %s is not supported; give ssh.config another file, or none", c.name)
}

// exec runs the command of a condition.
func (e *evaluation) exec(l line, text string) (bool, error) {
	if e.q.Exec == nil {
		return false, l.pos.Errorf("Match exec is not supported here")
	}
	command, err := ExpandCommand(l.pos, "Match exec", text, e.tokens())
	if err != nil {
		return false, err
	}
	holds, err := e.q.Exec(command)
	if err != nil {
		return false, l.pos.Errorf("Match exec %q: %w", text, err)
	}
	return holds, nil
}

// tokens returns the tokens of Match exec, as far as they are known yet.
func (e *evaluation) tokens() map[byte]string {
	name, _ := os.Hostname()
	short, _, _ := strings.Cut(name, ".")
	port, key := e.settings.First("port").Text(), e.settings.First("hostkeyalias").Text()
	if port == "" {
		port = "22"
	}
	if key == "" {
		key = e.q.Host
	}
	return map[byte]string{'d': e.q.Home, 'h': e.hostName(), 'i': strconv.Itoa(os.Getuid()), 'k': key, 'L': short, 'l': name,
		'n': e.q.Host, 'p': port, 'r': e.user(), 'u': e.q.LocalUser}
}

// hostName returns the host name as far as it is known.
func (e *evaluation) hostName() string {
	if name := e.settings.First("hostname").Text(); name != "" {
		return strings.NewReplacer("%h", e.q.Host, "%%", "%").Replace(name)
	}
	return e.q.Host
}

func (e *evaluation) user() string {
	for _, name := range []string{e.q.User, e.settings.First("user").Text()} {
		if name != "" {
			return name
		}
	}
	return e.q.DefaultUser
}

// matchList reports whether a pattern matches and no negated one does.
func matchList(patterns []string, s string) bool {
	found := false
	for _, p := range patterns {
		p, negated := strings.CutPrefix(p, "!")
		if !matchPattern(p, s) {
			continue
		}
		if negated {
			return false
		}
		found = true
	}
	return found
}

// matchPattern matches a text with * and ?.
func matchPattern(pattern, s string) bool {
	// The position for backtracking: the last star, and the text that it has matched.
	star, from := -1, 0
	i, j := 0, 0
	for j < len(s) {
		switch {
		case i < len(pattern) && pattern[i] == '*':
			star, from = i, j
			i++
		case i < len(pattern) && (pattern[i] == '?' || pattern[i] == s[j]):
			i++
			j++
		case star >= 0:
			from++
			i, j = star+1, from
		default:
			return false
		}
	}
	return strings.Trim(pattern[i:], "*") == ""
}
