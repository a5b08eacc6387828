package convert

import (
	"slices"
	"strings"

	"gopkg.in/yaml.v3"
)

// isFreeForm reports whether the arguments of a module may be a text that is a command.
func isFreeForm(module string) bool {
	return slices.Contains([]string{"command", "shell", "script", "raw"}, module)
}

// freeOptions are the words NAME=VALUE that Ansible takes out of the text of a command,
// wherever they stand.
var freeOptions = []string{"creates", "removes", "chdir", "executable", "stdin", "warn", "stdin_add_newline", "strip_empty_ends"}

// freeForm translates a command that is a text. more are further arguments.
func (w *Translator) freeForm(s *source, key, value *yaml.Node, rule moduleRule, more []string) {
	text := value.Value
	for _, word := range words(text) {
		name, v, ok := strings.Cut(word, "=")
		if !ok || !slices.Contains(freeOptions, name) {
			continue
		}
		if rule.args[name] == "" {
			s.note(value, "the module "+rule.to+" has no argument "+name+" here")
			continue
		}
		out, problems := s.jinja.PlaybookText(strings.Trim(v, `"'`))
		s.report(value, problems)
		more = append(more, name+": "+written(out, true, true))
		text = strings.Join(strings.Fields(strings.Replace(" "+text+" ", " "+word+" ", " ", 1)), " ")
	}
	if rule.to == "command" && strings.ContainsAny(strings.ReplaceAll(text, "{{", ""), "$~") {
		s.differ(value, "Ansible replaces $NAME and ~ in a command, deployer does not: the module shell does")
	}
	switch {
	case len(more) == 0:
		if rule.to != key.Value {
			s.rename(key, rule.to)
		}
		s.value(value, false)
	case value.Style&(yaml.LiteralStyle|yaml.FoldedStyle) != 0:
		if text != value.Value {
			s.note(value, "write "+strings.Join(more, ", ")+" as arguments beside cmd")
			s.value(value, false)
			return
		}
		s.nestBlock(key, value, rule.to, more)
	case s.end(value) < 0:
		s.note(key, "write {cmd: ..., "+strings.Join(more, ", ")+"}")
	default:
		out, problems := s.jinja.PlaybookText(text)
		s.report(value, problems)
		s.change(s.start(key), s.end(value), rule.to+": {cmd: "+written(out, true, strings.Contains(out, "{{"))+", "+strings.Join(more, ", ")+"}")
	}
}

// nestBlock writes a block scalar as the argument cmd, with further arguments below it.
func (s *source) nestBlock(key, value *yaml.Node, module string, more []string) {
	from, end := s.lineEnd(s.start(value)), s.end(value)
	if end < from {
		s.note(key, "write "+strings.Join(more, ", ")+" as arguments beside cmd")
		return
	}
	indent := strings.Repeat(" ", key.Column+1)
	style := strings.TrimSpace(string(s.data[s.start(value):from]))
	lines := strings.Split(s.translatedBlock(value), "\n")
	for i, l := range lines {
		if strings.TrimSpace(l) != "" {
			lines[i] = "  " + l
		}
	}
	out := module + ":\n" + indent + "cmd: " + style + "\n" + strings.Join(lines, "\n")
	for _, m := range more {
		out += "\n" + indent + m
	}
	s.change(s.start(key), end, out)
}

// taskArguments returns what the keyword args and check_mode add to the module of a task,
// as YAML, and removes the keyword args.
func (w *Translator) taskArguments(s *source, task *yaml.Node, module string) []string {
	var out []string
	if key, value := get(task, "args"); key != nil {
		rule := moduleRules[module]
		before := len(s.notes)
		each(value, func(k, v *yaml.Node) {
			to := rule.args[k.Value]
			if to == "" || v.Kind != yaml.ScalarNode {
				s.note(k, "the module "+module+" has no argument "+k.Value+" here")
				return
			}
			text := v.Value
			if truth, ok := truths[text]; ok && v.Style == 0 {
				text = truth
			} else if v.ShortTag() == "!!str" {
				translated, problems := s.jinja.PlaybookText(text)
				s.report(v, problems)
				text = written(translated, true, strings.Contains(translated, "{{"))
			}
			out = append(out, to+": "+text)
		})
		if value.Kind != yaml.MappingNode || len(s.notes) > before && len(out) == 0 || !s.remove(key, value) {
			s.note(key, "the arguments stand below the module")
			return nil
		}
	}
	if _, mode := get(task, "check_mode"); mode != nil && (mode.Value == "false" || truths[mode.Value] == "false") {
		if module == "command" || module == "shell" {
			out = append(out, "read_only: true")
		}
	}
	return out
}
