package dialect

import (
	"fmt"
	"regexp"
	"strings"
)

// testHolds evaluates a test of Ansible by its name, as select and selectattr do. there is
// false for a field that does not exist.
func testHolds(name string, v any, there bool, args []any) (bool, error) {
	switch name {
	case "defined":
		return there, nil
	case "undefined":
		return !there, nil
	case "":
		return there && Truthy(v), nil
	case "none":
		return there && v == nil, nil
	case "string", "mapping", "number", "sequence", "boolean", "true", "false":
		return there && isKind(name, v), nil
	}
	if len(args) == 0 {
		return false, fmt.Errorf("the test %q wants an argument, or there is no such test", name)
	}
	if !there {
		return name == "ne" || name == "!=", nil
	}
	return testWith(name, v, args[0])
}

func isKind(name string, v any) bool {
	switch name {
	case "string":
		_, ok := v.(string)
		return ok
	case "mapping":
		_, ok := v.(map[string]any)
		return ok
	case "number":
		_, ok := toFloat(v)
		return ok
	case "sequence":
		_, ok := list(v)
		return ok
	case "boolean":
		_, ok := v.(bool)
		return ok
	}
	return v == (name == "true")
}

func testWith(name string, v, arg any) (bool, error) {
	switch name {
	case "equalto", "eq", "==", "sameas":
		return equal(v, arg), nil
	case "ne", "!=":
		return !equal(v, arg), nil
	case "gt", ">":
		return compare(v, arg) > 0, nil
	case "ge", ">=":
		return compare(v, arg) >= 0, nil
	case "lt", "<":
		return compare(v, arg) < 0, nil
	case "le", "<=":
		return compare(v, arg) <= 0, nil
	case "in":
		return contains(arg, v), nil
	case "contains":
		return contains(v, arg), nil
	case "match", "search", "regex":
		return matches(name, v, arg)
	}
	return false, fmt.Errorf("there is no test %q", name)
}

func contains(in, v any) bool {
	switch t := in.(type) {
	case string:
		s, ok := v.(string)
		return ok && strings.Contains(t, s)
	case map[string]any:
		s, ok := v.(string)
		_, found := t[s]
		return ok && found
	}
	l, _ := list(in)
	return has(l, v)
}

func matches(how string, v, arg any) (bool, error) {
	s, err := Print(v)
	if err != nil {
		return false, err
	}
	pattern, _ := arg.(string)
	if how == "match" {
		pattern = "^(?:" + pattern + ")"
	}
	re, err := regexp.Compile(pattern)
	if err != nil {
		return false, err
	}
	return re.MatchString(s), nil
}
