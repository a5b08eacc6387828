package convert

import (
	"strings"

	"gopkg.in/yaml.v3"
)

// oldForm reports whether arguments are written as name=nginx state=present.
func oldForm(module, text string) bool {
	switch module {
	case "include_tasks", "include_role", "include_vars", "meta", "debug", "fail", "assert":
		return (module == "debug" || module == "fail") && strings.HasPrefix(text, "msg=")
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
		s.notes = append(s.notes, Note{value.Line, value.Column, n.Text, n.Differs})
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
