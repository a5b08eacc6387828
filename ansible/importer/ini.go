package importer

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
)

var (
	sectionLine = regexp.MustCompile(`^\[([^:\]\s]+)(?::(\w+))?\]\s*(?:#.*)?$`)
	childLine   = regexp.MustCompile(`^([^:\]\s]+)\s*(?:#.*)?$`)
	lineEnds    = regexp.MustCompile("\r\n|[\n\r\v\f\x1c\x1d\x1e\u0085\u2028\u2029]") // of Python's splitlines
)

// iniReader reads one file in INI form.
type iniReader struct {
	src         *Source
	group, kind string
	// declared are the groups with a section of hosts or children; awaited are the others,
	// with the place that needs them, in their order.
	declared map[string]bool
	awaited  []Note
}

// readINI parses the INI form: sections of hosts, NAME:vars and NAME:children.
func (s *Source) readINI(file, text string) error {
	r := &iniReader{src: s, group: "ungrouped", kind: "hosts", declared: map[string]bool{"all": true, "ungrouped": true}}
	for g := range s.groupVars {
		r.declared[g] = true
	}
	for i, line := range lineEnds.Split(text, -1) {
		at := placeOf(file, i+1)
		line = strings.TrimSpace(line)
		if line == "" || line[0] == '#' || line[0] == ';' {
			continue
		}
		if err := r.line(at, line); err != nil {
			return fmt.Errorf("%s: %w", at, err)
		}
	}
	for _, n := range r.awaited {
		if !r.declared[n.What] {
			return fmt.Errorf("%s: there is no section [%s] %s", n.At, n.What, n.Why)
		}
	}
	return nil
}

func (r *iniReader) line(at, line string) error {
	if m := sectionLine.FindStringSubmatch(line); m != nil {
		return r.section(at, m[1], m[2])
	}
	if strings.HasPrefix(line, "[") && strings.HasSuffix(line, "]") {
		return fmt.Errorf("%s is not a valid section", line)
	}
	switch r.kind {
	case "children":
		return r.child(at, line)
	case "vars":
		name, text, ok := strings.Cut(line, "=")
		if !ok {
			return fmt.Errorf("want NAME=VALUE, and this is %q", line)
		}
		r.src.setGroupVar(r.group, strings.TrimSpace(name), value{pythonLiteral(strings.TrimSpace(text)), at})
		return nil
	}
	return r.host(at, line)
}

func (r *iniReader) section(at, group, kind string) error {
	switch kind {
	case "", "hosts", "children":
		r.declared[group] = true
	case "vars":
		r.awaited = append(r.awaited, Note{at, group, "for these variables"})
	default:
		return fmt.Errorf("there is no section of kind %q; want hosts, vars or children", kind)
	}
	if r.group, r.kind = group, kind; kind == "" {
		r.kind = "hosts"
	}
	r.src.group(group, at)
	return nil
}

func (r *iniReader) child(at, line string) error {
	m := childLine.FindStringSubmatch(line)
	if m == nil {
		return fmt.Errorf("want the name of a group, and this is %q", line)
	}
	r.awaited = append(r.awaited, Note{at, m[1], "for this child of " + r.group})
	return r.src.addChild(r.group, m[1], at)
}

func (r *iniReader) host(at, line string) error {
	tokens, err := splitWords(line, true)
	if err != nil {
		return fmt.Errorf("%w in %q", err, line)
	}
	if len(tokens) == 0 || tokens[0] == "" {
		return fmt.Errorf("want the name of a host, and this is %q", line)
	}
	names, port, err := hostPattern(tokens[0])
	if err != nil {
		return err
	}
	var own []string
	set := vars{}
	for _, w := range tokens[1:] {
		key, text, ok := strings.Cut(w, "=")
		if !ok {
			return fmt.Errorf("want NAME=VALUE after the host, and this is %q", w)
		}
		if !slices.Contains(own, key) {
			own = append(own, key)
		}
		set[key] = value{pythonLiteral(text), at}
	}
	for _, name := range names {
		r.src.addHost(r.group, name, port, at)
		for _, key := range own {
			r.src.hostVars[name][key] = set[key]
		}
	}
	return nil
}
