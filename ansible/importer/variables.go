package importer

import (
	"bytes"
	"regexp"
	"strings"

	"gopkg.in/yaml.v3"
)

// free returns the variables for playbooks, with Jinja translated. The variables of
// Kubespray configure its own roles: those in effect are noted instead.
func (c *converter) free(vs vars) *mapping {
	out := &mapping{}
	for _, name := range vs.names() {
		if c.kubespray && c.off.inactive(name, vs[name].v) {
			continue
		}
		v, ok := c.translated(name, vs[name])
		switch {
		case !ok:
		case c.kubespray:
			c.note(v.at, describe(name, v.v), "no equivalent")
		case secretName.MatchString(name):
			out.set(name, secret(v.v))
			c.note(v.at, name, "is marked !secret because of its name; `deployer secrets encrypt` encrypts such files")
		default:
			out.set(name, v.v)
		}
	}
	return out
}

// describe returns NAME: VALUE on one line of at most 100 characters of YAML, or the
// name alone when the name is that of a secret.
func describe(name string, v any) string {
	if secretName.MatchString(name) {
		return name
	}
	var b bytes.Buffer
	enc := yaml.NewEncoder(&b)
	n := encode(v)
	n.Style |= yaml.FlowStyle
	if enc.Encode(n) != nil {
		return name
	}
	text := []rune(strings.Join(strings.Fields(b.String()), " "))
	if len(text) > 100 {
		text = append(text[:100], '…')
	}
	return name + ": " + string(text)
}

var secretName = regexp.MustCompile(`(?i)(pass(word|wd|phrase)?|secret|token|private_?key|api_?key|credential)s?$`)

// secret tags a value with !secret, so that deployer withholds it from all output.
func secret(v any) *yaml.Node {
	n := encode(v)
	if n.Kind == yaml.ScalarNode {
		n.Tag, n.Style = "!secret", yaml.TaggedStyle|yaml.DoubleQuotedStyle
	} else {
		n.Tag, n.Style = "!secret", n.Style|yaml.TaggedStyle
	}
	return n
}
