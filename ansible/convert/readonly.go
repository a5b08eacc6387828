package convert

import (
	"strings"

	"gopkg.in/yaml.v3"

	"deployer/ansible/jinja"
)

// readOnly says of a command that Ansible runs in check mode too that it only
// looks, which is what deployer runs in dry runs.
func (w *Words) readOnly(s *source, task *yaml.Node) {
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
			s.note(key, "check_mode: false is read_only: true, beside cmd")
		}
	})
}
