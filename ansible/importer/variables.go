package importer

import (
	"bytes"
	"regexp"
	"slices"
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
		case slices.Contains(reservedVars, name):
			c.note(v.at, describe(name, v.v), "the name belongs to deployer: give the variable another one, here and in playbooks")
		case secretName.MatchString(name):
			out.set(name, c.marked(name, c.written(name, v), v.at))
		default:
			out.set(name, c.written(name, v))
		}
	}
	return out
}

// describe returns NAME: VALUE on one line of at most 100 characters of YAML, without
// secrets: the name alone when that is the name of a secret.
func describe(name string, v any) string {
	if secretName.MatchString(name) {
		return name
	}
	var b bytes.Buffer
	enc := yaml.NewEncoder(&b)
	n := encode(withoutSecrets(plainValue(v, &[]string{})))
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

// withoutSecrets replaces the values below names of secrets, and passwords in URLs.
func withoutSecrets(v any) any {
	switch t := v.(type) {
	case string:
		return urlPassword.ReplaceAllString(t, "$1[secret]@")
	case []any:
		out := make([]any, len(t))
		for i, e := range t {
			out[i] = withoutSecrets(e)
		}
		return out
	case map[string]any:
		out := make(map[string]any, len(t))
		for k, e := range t {
			if secretName.MatchString(k) {
				e = "[secret]"
			}
			out[k] = withoutSecrets(e)
		}
		return out
	}
	return v
}

// urlPassword matches the user and the password of a URL.
var urlPassword = regexp.MustCompile(`(://)[^/\s@]*@`)

var secretName = regexp.MustCompile(`(?i)(pass(word|wd|phrase)?|secret|token|private_?key|api_?key|credential)s?$`)
