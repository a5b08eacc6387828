package convert

import (
	"strings"

	"gopkg.in/yaml.v3"

	"deployer/ansible/jinja"
)

// readOnly translates `check_mode: false` of a command: Ansible runs such a command in
// check mode too, deployer runs commands with read_only in dry runs.
func (w *Translator) readOnly(s *source, task *yaml.Node) {
	each(task, func(key, value *yaml.Node) {
		word := bare(key.Value)
		if word != "command" && word != "shell" {
			return
		}
		switch {
		case value.Kind == yaml.MappingNode && len(value.Content) > 0 && value.Style&yaml.FlowStyle == 0:
			first := value.Content[0]
			s.change(s.start(first), s.start(first), "read_only: true\n"+strings.Repeat(" ", first.Column-1))
		case value.Kind == yaml.ScalarNode && value.Style&(yaml.LiteralStyle|yaml.FoldedStyle) == 0 && s.end(value) > 0:
			out, problems := jinja.PlaybookText(value.Value)
			if len(problems) == 0 {
				s.change(s.start(key), s.end(value), word+": {cmd: "+written(out, true, strings.Contains(out, "{{"))+", read_only: true}")
				return
			}
			fallthrough
		default:
			s.note(key, "check_mode: false is called read_only: true here, an argument beside cmd")
		}
	})
}
