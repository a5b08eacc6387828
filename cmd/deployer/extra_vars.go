package main

import (
	"fmt"
	"maps"
	"os"
	"strconv"
	"strings"

	"gopkg.in/yaml.v3"

	"deployer/strictyaml"
)

// extraVars parses the values of --extra-vars: NAME=VALUE, @FILE with a YAML mapping,
// or a mapping in braces; later values override earlier ones. VALUE is an int when it
// is a whole number, a bool when it is true or false, and text otherwise, so that the
// version 1.10 keeps its form.
func extraVars(args []string) (map[string]any, error) {
	out := map[string]any{}
	for _, arg := range args {
		vars, err := extraVar(arg)
		if err != nil {
			return nil, usageError(fmt.Errorf("--extra-vars: %w", err))
		}
		maps.Copy(out, vars)
	}
	return out, nil
}

func extraVar(arg string) (map[string]any, error) {
	if file, ok := strings.CutPrefix(arg, "@"); ok {
		data, err := os.ReadFile(file)
		if err != nil {
			return nil, err
		}
		return mapping(file, data)
	}
	if strings.HasPrefix(strings.TrimSpace(arg), "{") {
		return mapping("--extra-vars", []byte(arg))
	}
	name, value, ok := strings.Cut(arg, "=")
	if !ok || name == "" {
		return nil, fmt.Errorf("%q is none of NAME=VALUE, @FILE and {mapping}", arg)
	}
	return map[string]any{name: scalar(value)}, nil
}

func mapping(name string, data []byte) (map[string]any, error) {
	root, err := strictyaml.Parse(name, data)
	if err != nil {
		return nil, err
	}
	out := map[string]any{}
	if root == nil || root.Kind == 0 || root.ShortTag() == "!!null" {
		return out, nil
	}
	if root.Kind != yaml.MappingNode {
		return nil, strictyaml.At(name, root).Errorf("want a mapping of names to values")
	}
	return out, strictyaml.Decode(name, root, &out)
}

func scalar(text string) any {
	if n, err := strconv.Atoi(text); err == nil && strconv.Itoa(n) == text {
		return n
	}
	switch text {
	case "true":
		return true
	case "false":
		return false
	}
	return text
}
