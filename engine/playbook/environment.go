package playbook

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"gopkg.in/yaml.v3"
)

// environment compiles a mapping of environment variables, or a template that
// gives one; nil when there is none.
func (c *compiler) environment(d *document, n *yaml.Node) *Value {
	if n.Kind == 0 || n.ShortTag() == "!!null" {
		return nil
	}
	if n.Kind != yaml.MappingNode && (n.Kind != yaml.ScalarNode || !isTemplate(n.Value)) {
		c.fail(d.at(n).Errorf("environment: want a mapping of names to texts"))
		return nil
	}
	for i := 0; n.Kind == yaml.MappingNode && i < len(n.Content); i += 2 {
		if name := n.Content[i].Value; !envName(name) {
			c.fail(d.at(n.Content[i]).Errorf("environment: %q cannot be the name of a variable", name))
		}
	}
	v, err := compileValue(d, n)
	c.fail(err)
	return v
}

func envName(s string) bool { return s != "" && !strings.ContainsAny(s, "=\x00") }

// Env is the environment that the task adds for the programs it runs, as
// KEY=value, sorted; what stands further in wins. The caller has entered the
// scopes.
func (t *Task) Env(vars *Vars) ([]string, error) {
	if len(t.env) == 0 {
		return nil, nil
	}
	all := map[string]string{}
	for _, layer := range t.env {
		v, err := layer.Eval(vars.values)
		if err != nil {
			return nil, err
		}
		m, ok := v.(map[string]any)
		if !ok {
			return nil, layer.Pos.Errorf("environment: want a mapping of names to texts, got %s", describe(v))
		}
		for name, value := range m {
			text, ok := envText(value)
			if !ok || !envName(name) {
				return nil, layer.Pos.Errorf("environment: %s: want a text, got %s", name, describe(value))
			}
			all[name] = text
		}
	}
	out := make([]string, 0, len(all))
	for _, name := range slices.Sorted(maps.Keys(all)) {
		out = append(out, name+"="+all[name])
	}
	return out, nil
}

func envText(v any) (string, bool) {
	switch v := v.(type) {
	case string:
		return v, !strings.Contains(v, "\x00")
	case bool, int, float64:
		return fmt.Sprint(v), true
	}
	return "", false
}
