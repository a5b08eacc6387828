package dialect

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// testArguments are the tests of Ansible that exist here: true for those with an argument.
// Tests of registered results, such as failed, are fields of the results instead.
var testArguments = map[string]bool{
	"defined": false, "none": false, "null": false, "string": false, "mapping": false, "number": false, "integer": false, "float": false,
	"sequence": false, "iterable": false, "boolean": false, "true": false, "false": false, "truthy": false, "falsy": false, "even": false, "odd": false,
	"equalto": true, "eq": true, "sameas": true, "ne": true, "gt": true, "greaterthan": true, "ge": true, "lt": true, "lessthan": true, "le": true, "in": true, "contains": true,
	"subset": true, "superset": true, "divisibleby": true, "match": true, "search": true, "regex": true, "version": true, "version_compare": true,
}

// HasTest reports whether `x is NAME` is a test here.
func HasTest(name string) bool {
	_, known := testArguments[name]
	_, result := resultTests[name]
	return known || result || name == "undefined"
}

// test converts a test to the function that `x is NAME` calls, or `x is not NAME` with
// negated.
func test(name string, negated bool) filter {
	return filter{most: -1, do: func(c *call) (any, error) {
		args := c.args
		switch name {
		case "version", "version_compare":
			args = []any{c.arg(0, "version", ""), c.arg(1, "operator", "==")}
			c.arg(2, "strict", false)
			c.arg(3, "version_type", "")
		case "match", "search", "regex":
			pattern, err := c.text(0, "pattern", "")
			if err != nil {
				return nil, err
			}
			args = []any{flags(c.flag(1, "ignorecase"), c.flag(2, "multiline")) + pattern}
		}
		holds, err := testHolds(name, c.value, true, args)
		return holds != negated, err
	}}
}

// flags returns the flags of a regular expression.
func flags(ignoreCase, multiline bool) string {
	out := ""
	if ignoreCase {
		out += "(?i)"
	}
	if multiline {
		out += "(?m)"
	}
	return out
}

// testHolds evaluates a test of Ansible by its name, as select and selectattr do. there is
// false for a field that does not exist.
func testHolds(name string, v any, there bool, args []any) (bool, error) {
	takes, known := testArguments[name]
	switch {
	case name == "defined":
		return there, nil
	case name == "undefined":
		return !there, nil
	case name == "":
		return there && Truthy(v), nil
	case known && !takes:
		return there && isKind(name, v), nil
	case len(args) == 0:
		return false, fmt.Errorf("the test %q wants an argument, or there is no such test", name)
	case !there:
		return name == "ne" || name == "!=", nil
	case name == "version" || name == "version_compare":
		return versionHolds(v, args)
	}
	return testWith(name, v, args[0])
}

func isKind(name string, v any) bool {
	switch name {
	case "none", "null":
		return v == nil
	case "string":
		_, ok := v.(string)
		return ok
	case "mapping":
		_, ok := v.(map[string]any)
		return ok
	case "number", "float":
		_, whole := toInt(v)
		_, ok := toFloat(v)
		_, truth := v.(bool) // a bool is a number in Python
		return ok && (name == "number" || !whole) || truth && name == "number"
	case "integer":
		_, ok := toInt(v)
		return ok
	case "sequence", "iterable": // Jinja counts what has a length
		_, ok := list(v)
		return ok || isKind("string", v) || isKind("mapping", v)
	case "even", "odd":
		n, ok := toInt(v)
		return ok && (n%2 == 0) == (name == "even")
	case "truthy", "falsy":
		return Truthy(v) == (name == "truthy")
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
	case "gt", "greaterthan", ">":
		return compare(v, arg) > 0, nil
	case "ge", ">=":
		return compare(v, arg) >= 0, nil
	case "lt", "lessthan", "<":
		return compare(v, arg) < 0, nil
	case "le", "<=":
		return compare(v, arg) <= 0, nil
	case "in":
		return contains(arg, v), nil
	case "contains":
		return contains(v, arg), nil
	case "subset":
		return within(v, arg), nil
	case "superset":
		return within(arg, v), nil
	case "divisibleby":
		n, ok := toInt(v)
		by, good := toInt(arg)
		if !ok || !good || by == 0 {
			return false, fmt.Errorf("want two whole numbers, the second not 0; got %s and %s", describe(v), describe(arg))
		}
		return n%by == 0, nil
	case "match", "search", "regex":
		return matches(name, v, arg)
	}
	return false, fmt.Errorf("there is no test %q", name)
}

// within reports whether all items of a list are in another one.
func within(part, whole any) bool {
	items, ok := list(part)
	return ok && !slices.ContainsFunc(items, func(item any) bool { return !contains(whole, item) })
}

// versionHolds compares two versions with the operator in the second argument.
func versionHolds(v any, args []any) (bool, error) {
	a, ok := VersionText(v)
	b, good := VersionText(args[0])
	if !ok || !good {
		return false, errors.New("want two texts")
	}
	op := "=="
	if len(args) > 1 {
		op, _ = args[1].(string)
	}
	order := VersionCompare(a, b)
	switch op {
	case "==", "=", "eq":
		return order == 0, nil
	case "!=", "<>", "ne":
		return order != 0, nil
	case "<", "lt":
		return order < 0, nil
	case "<=", "le":
		return order <= 0, nil
	case ">", "gt":
		return order > 0, nil
	case ">=", "ge":
		return order >= 0, nil
	}
	return false, fmt.Errorf("the operator is %q, want ==, !=, <, <=, > or >=", op)
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
