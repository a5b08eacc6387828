package lang

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/expr-lang/expr/ast"
	"github.com/pelletier/go-toml/v2"
	"gopkg.in/yaml.v3"

	"deployer/engine/lang/dialect"
	"deployer/jsontypes"
)

func toYAML(v any) (string, error) {
	if err := dialect.BoundValue(v, 2); err != nil {
		return "", err
	}
	var b strings.Builder
	enc := yaml.NewEncoder(&b)
	enc.SetIndent(2)
	if err := enc.Encode(v); err != nil {
		return "", err
	}
	return strings.TrimSuffix(b.String(), "\n"), nil
}

// toTOML returns a mapping as a TOML document with sorted keys.
func toTOML(v any) (string, error) {
	m, ok := v.(map[string]any)
	if !ok {
		return "", fmt.Errorf("toToml wants a mapping, got %s", Describe(v))
	}
	out, err := toml.Marshal(m)
	if err != nil {
		return "", err
	}
	return strings.TrimSuffix(string(out), "\n"), nil
}

func fromYAML(s string) (any, error) {
	v, err := dialect.DecodeYAML(s)
	return jsontypes.Normalize(v), err
}

// fromJSON decodes a text that may come from a host.
func fromJSON(s string) (any, error) {
	if err := dialect.BoundJSON(s); err != nil {
		return nil, err
	}
	return decodeJSON(s)
}

// boundedJSONName is the function fromJSON of expr after Visit.
const boundedJSONName = "__fromJSON"

// rewriteFromJSON replaces a call of the function fromJSON of expr, which has no bound.
func rewriteFromJSON(n *ast.Node, call *ast.BuiltinNode) {
	if call.Name == "fromJSON" && len(call.Arguments) == 1 {
		ast.Patch(n, &ast.CallNode{Callee: &ast.IdentifierNode{Value: boundedJSONName}, Arguments: call.Arguments})
	}
}

// fromJSONExpr is fromJSON as expressions call it.
func fromJSONExpr(args ...any) (any, error) {
	s, ok := args[0].(string)
	if !ok {
		return nil, fmt.Errorf("fromJSON wants a text, got %s", Describe(args[0]))
	}
	return fromJSON(s)
}

func decodeJSON(s string) (any, error) {
	var v any
	if err := json.Unmarshal([]byte(s), &v); err != nil {
		return nil, err
	}
	return jsontypes.Normalize(v), nil
}

// toJSON is sprig's mustToJson without escapes of <, > and &: the result goes into
// configuration files, not into web pages.
func toJSON(v any) (string, error) {
	if err := dialect.BoundValue(v, 0); err != nil {
		return "", err
	}
	var b strings.Builder
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return "", err
	}
	return strings.TrimSuffix(b.String(), "\n"), nil
}
