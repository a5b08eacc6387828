package program

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"deployer/engine/lang"
)

// ValidEnvName reports whether a process can have an environment variable of that name.
func ValidEnvName(s string) bool { return s != "" && !strings.ContainsAny(s, "=\x00") }

// Env returns the environment variables that the task adds for its programs, as KEY=value,
// sorted. Inner scopes win. The caller has pushed the scopes.
func (t *Task) Env(vars *lang.Vars) ([]string, error) {
	if len(t.Environment) == 0 {
		return nil, nil
	}
	all := map[string]string{}
	for _, layer := range t.Environment {
		v, err := layer.Eval(vars.Map())
		if err != nil {
			return nil, err
		}
		m, ok := v.(map[string]any)
		if !ok {
			return nil, layer.Pos.Errorf("environment: want a mapping of names to texts, got %s", lang.Describe(v))
		}
		for name, value := range m {
			text, ok := envText(value)
			if !ok || !ValidEnvName(name) {
				return nil, layer.Pos.Errorf("environment: %s: want a text, got %s", name, lang.Describe(value))
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
