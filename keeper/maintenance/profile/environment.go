package profile

import (
	"fmt"
	"strings"

	"gopkg.in/yaml.v3"

	"deployer/strictyaml"
)

// expandEnvironment replaces ${NAME} in the values of a document. ${NAME:text} has a default, ${NAME:?text} an own
// message for a variable that is not set, and ${NAME:+text} is text if the variable is set. Empty variables count as
// not set. All this is as in go-ucfg, with which maintenance-controller reads its file; as there, $ without { is text.
func expandEnvironment(file string, n *yaml.Node, env func(string) (string, bool)) error {
	var errs []error
	seen := map[*yaml.Node]bool{} // anchors that several values share
	var walk func(*yaml.Node)
	walk = func(n *yaml.Node) {
		if n == nil || seen[n] {
			return
		}
		seen[n] = true
		if n.Kind == yaml.ScalarNode && strings.Contains(n.Value, "${") {
			value, err := expand(n.Value, env)
			if err != nil {
				errs = append(errs, strictyaml.At(file, n).Errorf("%v", err))
				return
			}
			n.Value = value
			if n.Style == 0 {
				n.Tag = "" // a number or a boolean may have come
			}
			return
		}
		for i, child := range n.Content {
			if n.Kind != yaml.MappingNode || i%2 == 1 {
				walk(child)
			}
		}
	}
	walk(n)
	return strictyaml.Join(errs...)
}

func expand(text string, env func(string) (string, bool)) (string, error) {
	var out strings.Builder
	for {
		before, rest, found := strings.Cut(text, "${")
		out.WriteString(before)
		if !found {
			return out.String(), nil
		}
		inner, after, closed := strings.Cut(rest, "}")
		if !closed {
			return "", fmt.Errorf("${%s is not closed with }", rest)
		}
		value, err := lookup(inner, env)
		if err != nil {
			return "", err
		}
		out.WriteString(value)
		text = after
	}
}

func lookup(inner string, env func(string) (string, bool)) (string, error) {
	variable, other, optional := strings.Cut(inner, ":")
	if variable == "" {
		return "", fmt.Errorf("${%s} names no variable", inner)
	}
	value, _ := env(variable)
	switch {
	case strings.HasPrefix(other, "+"):
		if value == "" {
			return "", nil
		}
		return other[1:], nil
	case value != "":
		return value, nil
	case strings.HasPrefix(other, "?"):
		return "", fmt.Errorf("variable %s of the environment is not set: %s", variable, other[1:])
	case optional:
		return other, nil
	}
	return "", fmt.Errorf("variable %s of the environment is not set; ${%s:text} has a default", variable, variable)
}
