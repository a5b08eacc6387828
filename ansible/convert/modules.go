package convert

import (
	"maps"
	"regexp"
	"slices"
	"strings"

	"gopkg.in/yaml.v3"

	"deployer/ansible/jinja"
)

// module translates the name and the arguments of a module. more are arguments that the
// task gives elsewhere, as YAML.
func (w *Translator) module(s *source, key, value *yaml.Node, more []string) {
	theirs := bare(key.Value)
	rule, ok := moduleRules[theirs]
	switch {
	case !ok && !w.known(theirs):
		s.note(key, "there is no module "+theirs+" here")
		s.value(value, false)
		return
	case !ok:
		rule.to = theirs
	}
	flow := value.Style&yaml.FlowStyle != 0
	if value.Kind == yaml.ScalarNode && value.ShortTag() == "!!str" {
		switch {
		case isFreeForm(theirs):
			w.freeForm(s, key, value, rule, more)
			return
		case oldForm(theirs, value.Value):
			w.old(s, key, value, theirs)
			return
		}
	}
	if len(more) > 0 {
		s.insert(key, value, more)
	}
	if theirs == "file" {
		rule = w.file(s, value)
	}
	if rule.to != key.Value && w.known(rule.to) {
		s.rename(key, rule.to)
	}
	if rule.to == "include_vars" && value.Kind == yaml.ScalarNode && s.end(value) > 0 {
		s.change(s.start(value), s.end(value), translated(s, value))
		return
	}
	if value.Kind != yaml.MappingNode || rule.to == "set" {
		s.value(value, flow)
		return
	}
	s.complete(value, rule)
	each(value, func(k, v *yaml.Node) { s.argument(theirs, rule, value, k, v, flow) })
}

// complete adds arguments whose defaults differ.
func (s *source) complete(mapping *yaml.Node, rule moduleRule) {
	has := func(name string) *yaml.Node {
		var found *yaml.Node
		each(mapping, func(k, v *yaml.Node) {
			if k.Value == name || rule.args[k.Value] == name {
				found = v
			}
		})
		return found
	}
	for _, a := range rule.adds {
		state := has("state")
		if a.with != "" && has(a.with) == nil || has(a.name) != nil || a.unless != "" && state != nil && (state.Value == a.unless || state.Value == "removed") {
			continue
		}
		if rule.to == "package" && has("name") == nil {
			continue // it only updates the lists
		}
		if len(mapping.Content) > 0 {
			s.insert(nil, mapping, []string{a.name + ": " + a.value})
		}
	}
}

// insert adds arguments in front of a mapping.
func (s *source) insert(key, mapping *yaml.Node, lines []string) {
	if mapping.Kind != yaml.MappingNode || len(mapping.Content) == 0 {
		s.note(key, "write "+strings.Join(lines, ", "))
		return
	}
	first := mapping.Content[0]
	between := "\n" + strings.Repeat(" ", first.Column-1)
	if mapping.Style&yaml.FlowStyle != 0 {
		between = ", "
	}
	s.change(s.start(first), s.start(first), strings.Join(lines, between)+between)
}

// argument translates an argument of a module.
func (s *source) argument(module string, rule moduleRule, task, key, value *yaml.Node, flow bool) {
	to, carries := rule.args[key.Value]
	if rule.args != nil && !carries {
		s.note(key, "the module "+rule.to+" has no argument "+key.Value+" here")
	}
	if differs := rule.differs[key.Value]; differs != "" {
		s.differ(key, differs)
	}
	if carries && to != key.Value {
		s.rename(key, to)
	}
	switch {
	case key.Value == "that":
		s.condition(value, flow)
	case key.Value == "var" && module == "debug":
		s.expression(value, flow)
	case strings.HasSuffix(key.Value, "mode") && value.Kind == yaml.ScalarNode && value.ShortTag() == "!!int":
		s.change(s.start(value), s.end(value), `"`+value.Value+`"`)
	case slices.Contains([]string{"regexp", "regex", "insertafter", "insertbefore", "after", "before", "search_regex"}, key.Value):
		s.pattern(value)
		s.value(value, flow)
	case module == "replace" && key.Value == "replace", module == "lineinfile" && key.Value == "line" && isTrue(task, "backrefs"):
		s.groups(value, flow)
	case slices.Contains(rule.durations, key.Value):
		s.seconds(value, flow)
	case key.Value == "state" && (value.Value == "installed" || value.Value == "removed"):
		s.replace(value, map[string]string{"installed": "present", "removed": "absent"}[value.Value], flow)
	case rule.to == "package" && to == "name" && value.Kind == yaml.ScalarNode && strings.Contains(value.Value, ",") && !strings.Contains(value.Value, "{{"):
		s.note(value, "write the names as a list")
	case key.Value == "src" && strings.HasSuffix(value.Value, ".j2"):
		out, problems := s.jinja.PlaybookText(strings.TrimSuffix(value.Value, ".j2") + ".tmpl")
		s.report(value, problems)
		s.replace(value, out, flow)
	default:
		s.value(value, flow)
	}
}

// isTrue reports whether an argument is the constant true.
func isTrue(mapping *yaml.Node, name string) bool {
	_, v := get(mapping, name)
	return v != nil && (v.Value == "true" || truths[v.Value] == "true")
}

// seconds writes a number of seconds as a duration.
func (s *source) seconds(value *yaml.Node, flow bool) {
	switch {
	case value.ShortTag() == "!!int":
		s.replace(value, value.Value+"s", flow)
	case strings.Contains(value.Value, "{{"):
		s.note(value, "a time has a unit here, as in 30s: write s behind }}")
	default:
		s.value(value, flow)
	}
}

// pattern lists a regular expression that is none here.
func (s *source) pattern(value *yaml.Node) {
	if value.Kind != yaml.ScalarNode || strings.Contains(value.Value, "{{") {
		return
	}
	if _, err := regexp.Compile(value.Value); err != nil {
		s.note(value, err.Error()+": patterns are those of RE2, without look-ahead and back references")
	}
}

// groupReference matches a group of a pattern in a replacement, and a dollar sign.
var groupReference = regexp.MustCompile(`\\(?:([1-9])|g<(\w+)>)|\$`)

// groups writes references to groups of a pattern, \1, as ${1}.
func (s *source) groups(n *yaml.Node, flow bool) {
	if n.Kind != yaml.ScalarNode {
		s.value(n, flow)
		return
	}
	text := groupReference.ReplaceAllStringFunc(n.Value, func(ref string) string {
		if ref == "$" {
			return "$$"
		}
		return "${" + strings.Trim(ref, `\g<>`) + "}"
	})
	if text == n.Value {
		s.value(n, flow)
		return
	}
	if strings.Contains(n.Value, "{{") {
		s.differ(n, "a $ in the value of a variable stands for a group here")
	}
	out, problems := s.jinja.PlaybookText(text)
	s.report(n, problems)
	s.replace(n, out, flow)
}

// fileStates are the modules for the states of Ansible's module file.
var fileStates = map[string]moduleRule{
	"directory": {to: "directory", args: carried("path dest>path name>path mode owner group follow")},
	"absent":    {to: "absent", args: carried("path dest>path name>path")},
	"link":      {to: "link", args: carried("src>to path dest>path name>path")},
}

// file returns the rule for a task `file` of Ansible, which depends on its state.
func (w *Translator) file(s *source, value *yaml.Node) moduleRule {
	key, state := get(value, "state")
	if state == nil {
		return moduleRules["file"]
	}
	switch state.Value {
	case "file":
		return moduleRules["file"] // which fails without the file
	case "touch":
		s.differ(state, "state: touch: the file is created, and its times stay as they are when it exists")
		s.replace(state, "present", value.Style&yaml.FlowStyle != 0)
		return moduleRules["file"]
	}
	rule, ok := fileStates[state.Value]
	if !ok {
		s.note(state, "state: "+state.Value+" has no equivalent: use the module file, directory, link or absent")
		return moduleRules["file"]
	}
	if !s.take(value, key, state) {
		s.note(key, "remove state: the module implies it")
	}
	rule.args = maps.Clone(rule.args)
	rule.args["state"] = "state"
	each(value, func(k, v *yaml.Node) {
		if rule.to == "absent" && k.Value != "path" && k.Value != "dest" && k.Value != "name" && k.Value != "state" && s.take(value, k, v) {
			rule.args[k.Value] = k.Value // it has no effect
		}
	})
	return rule
}

// take removes a key from a mapping, also from one in braces.
func (s *source) take(mapping, key, value *yaml.Node) bool {
	if mapping.Style&yaml.FlowStyle == 0 {
		return s.remove(key, value)
	}
	end := s.end(value)
	if end < 0 {
		return false
	}
	if s.taken == nil {
		s.taken = map[*yaml.Node]bool{}
	}
	s.taken[key] = true
	left := -1 // offset behind the last remaining pair before the key
	for i := 0; i+1 < len(mapping.Content); i += 2 {
		switch k := mapping.Content[i]; {
		case k == key && i+2 < len(mapping.Content):
			s.change(s.start(key), s.start(mapping.Content[i+2]), "")
			return true
		case k == key && left > 0:
			s.change(left, end, "")
			return true
		case !s.taken[k]:
			left = s.last(mapping.Content[i+1])
		}
	}
	return false
}

// translated returns the translated name of a file of variables, as YAML for a list in
// brackets.
func translated(s *source, n *yaml.Node) string {
	out, problems := s.jinja.PlaybookText(strings.TrimPrefix(n.Value, "../vars/"))
	s.report(n, slices.DeleteFunc(problems, func(p jinja.Problem) bool { return p.Differs })) // Debian.yml is found for debian
	return written(out, true, strings.Contains(out, "{{"))
}
