package convert

import (
	"strings"

	"gopkg.in/yaml.v3"

	"deployer/ansible/jinja"
)

// args maps arguments of Ansible's modules to deployer's names, by module.
var args = map[string]map[string]string{
	"lineinfile":      {"insertafter": "insert_after", "insertbefore": "insert_before", "firstmatch": "first_match", "regex": "regexp", "dest": "path", "name": "path"},
	"blockinfile":     {"insertafter": "insert_after", "insertbefore": "insert_before", "content": "block", "dest": "path", "name": "path"},
	"replace":         {"replace": "replacement", "dest": "path", "name": "path"},
	"apt":             {"pkg": "name", "package": "name"},
	"file":            {"dest": "path", "name": "path"},
	"systemd":         {"unit": "name", "service": "name"},
	"systemd_service": {"unit": "name", "service": "name"},
	"stat":            {"get_checksum": "checksum"},
	"user":            {"createhome": "create_home"},
	"hostname":        {},
}

// module translates the name and the arguments of a module.
func (w *Translator) module(s *source, key, value *yaml.Node) {
	theirs := bare(key.Value)
	ours := theirs
	for _, name := range []string{w.Renamed[theirs], forms[theirs]} {
		if w.known(name) {
			ours = name
		}
	}
	flow := value.Style&yaml.FlowStyle != 0
	if value.Kind == yaml.ScalarNode && value.ShortTag() == "!!str" && oldForm(ours, value.Value) {
		w.old(s, key, value, theirs)
		return
	}
	if theirs == "file" {
		ours = w.file(s, value)
	}
	if ours != key.Value && w.known(ours) {
		s.rename(key, ours)
	}
	if theirs == "set_fact" || theirs == "set" {
		s.value(value, flow)
		return
	}
	if value.Kind != yaml.MappingNode {
		s.value(value, flow)
		return
	}
	each(value, func(k, v *yaml.Node) { argument(s, theirs, k, v, flow) })
}

// forms are the keywords that the compiler spells differently.
var forms = map[string]string{
	"import_tasks": "include_tasks", "include": "include_tasks", "import_role": "include_role", "set_fact": "set",
}

func argument(s *source, module string, key, value *yaml.Node, flow bool) {
	if to := args[module][key.Value]; to != "" {
		s.rename(key, to)
	}
	switch {
	case key.Value == "that" || key.Value == "var" && module == "debug":
		s.condition(value, flow)
	case strings.HasSuffix(key.Value, "mode") && value.Kind == yaml.ScalarNode && value.ShortTag() == "!!int":
		s.change(s.start(value), s.end(value), `"`+value.Value+`"`)
	case module == "replace" && key.Value == "replace", module == "lineinfile" && key.Value == "line":
		s.groups(value, flow)
	case (key.Value == "delay" || key.Value == "timeout" || key.Value == "sleep" || key.Value == "cache_valid_time") && value.ShortTag() == "!!int":
		s.replace(value, value.Value+"s", flow)
	case key.Value == "state" && value.Value == "installed":
		s.replace(value, "present", flow)
	case key.Value == "state" && value.Value == "removed":
		s.replace(value, "absent", flow)
	case key.Value == "src" && strings.HasSuffix(value.Value, ".j2"):
		out, problems := jinja.PlaybookText(strings.TrimSuffix(value.Value, ".j2") + ".tmpl")
		for _, p := range problems {
			s.note(value, p.Error())
		}
		s.replace(value, out, flow)
	default:
		s.value(value, flow)
	}
}

// groups replaces references to groups of a pattern, \1, by ${1}.
func (s *source) groups(n *yaml.Node, flow bool) {
	text := n.Value
	for _, digit := range []string{"1", "2", "3", "4"} {
		text = strings.ReplaceAll(text, `\`+digit, "${"+digit+"}")
	}
	if text == n.Value || n.Kind != yaml.ScalarNode {
		s.value(n, flow)
		return
	}
	out, problems := jinja.PlaybookText(text)
	for _, p := range problems {
		s.note(n, p.Error())
	}
	s.replace(n, out, flow)
}

// file returns the module for a task `file` of Ansible, which depends on its state.
func (w *Translator) file(s *source, value *yaml.Node) string {
	key, state := get(value, "state")
	if state == nil {
		return "file"
	}
	ours, ok := map[string]string{"directory": "directory", "absent": "absent", "link": "link", "file": "file"}[state.Value]
	if !ok {
		if state.Value != "touch" {
			s.note(state, "state: "+state.Value+" has no equivalent: use the module file, directory, link or absent")
		}
		ours = "file"
	}
	if !s.take(value, key, state) {
		s.note(key, "remove state: the module implies it")
	}
	each(value, func(k, v *yaml.Node) {
		switch {
		case ours == "link" && k.Value == "src":
			s.rename(k, "to")
		case ours == "link" && k.Value == "dest":
			s.rename(k, "path")
		case ours == "absent" && k.Value != "path" && k.Value != "dest" && k.Value != "name" && k.Value != "state":
			s.take(value, k, v)
		}
	})
	return ours
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

// oldForm reports whether arguments are written as name=nginx state=present.
func oldForm(module, text string) bool {
	switch module {
	case "command", "shell", "script", "include_tasks", "include_role", "include_vars", "meta", "debug", "fail":
		return module == "debug" && strings.HasPrefix(text, "msg=")
	}
	first, _, _ := strings.Cut(text, " ")
	name, _, ok := strings.Cut(first, "=")
	return ok && name != "" && !strings.ContainsAny(name, "{}'\"/")
}

// old rewrites arguments of the form name=value as a mapping and translates that.
func (w *Translator) old(s *source, key, value *yaml.Node, theirs string) {
	var pairs []string
	for _, word := range words(value.Value) {
		name, text, ok := strings.Cut(word, "=")
		if !ok {
			s.note(value, "cannot read "+word)
			return
		}
		text = strings.Trim(text, `"'`)
		if strings.HasSuffix(name, "mode") || strings.Contains(text, "{{") || strings.ContainsAny(text, `:#,[]{}*&!|>%@\`) {
			text = written(text, true, true)
		}
		pairs = append(pairs, name+": "+text)
	}
	// The mapping is translated as a file of its own.
	small := "- " + theirs + ": {" + strings.Join(pairs, ", ") + "}\n"
	out, notes, err := w.yaml(tasks, []byte(small))
	end := s.end(value)
	if err != nil || end < 0 {
		s.note(value, "write {"+strings.Join(pairs, ", ")+"}")
		return
	}
	for _, n := range notes {
		s.note(value, n.Text)
	}
	s.change(s.start(key), end, strings.TrimSuffix(strings.TrimPrefix(string(out), "- "), "\n"))
}

// words splits arguments of the form name=value at white space outside of quotes and {{
// }}.
func words(text string) []string {
	var out []string
	var word strings.Builder
	quote, deep := rune(0), 0
	for _, r := range text {
		switch {
		case quote != 0 && r == quote:
			quote = 0
		case quote == 0 && (r == '"' || r == '\'') && deep == 0:
			quote = r
		case r == '{':
			deep++
		case r == '}':
			deep--
		}
		if quote == 0 && deep == 0 && (r == ' ' || r == '\n' || r == '\t') {
			if word.Len() > 0 {
				out = append(out, word.String())
				word.Reset()
			}
			continue
		}
		word.WriteRune(r)
	}
	if word.Len() > 0 {
		out = append(out, word.String())
	}
	return out
}

// translated returns the translated name of a file of variables, as YAML for a list in
// brackets.
func translated(s *source, n *yaml.Node) string {
	out, problems := jinja.PlaybookText(strings.TrimPrefix(n.Value, "../vars/"))
	for _, p := range problems {
		s.note(n, p.Error())
	}
	return written(out, true, strings.Contains(out, "{{"))
}
