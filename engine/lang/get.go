package lang

import (
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/expr-lang/expr/vm/runtime"

	"deployer/strictyaml"
)

// The expr language evaluates a name or a key that does not exist to nil, so a misspelt
// condition would be false without any error. strictness rewrites each look-up to a call of
// get, which fails, or of try, which gives nil where the author has allowed for a missing
// name.
const (
	getName        = "__get"
	getHostVarName = "__get_host_var" // get, for the variables of another host
	tryName        = "__try"
	hasName        = "__has" // reports whether there is anything to get
	// truthyName is the function that reports truth as in Jinja, for `| default(x,
	// true)`.
	truthyName = "__truthy"
)

// getHostVar is get for the variables of another host; its error says which of them exist.
func getHostVar(args ...any) (any, error) {
	value, err := get(args...)
	if err != nil && !errors.Is(err, ErrLookupUnknown) {
		err = fmt.Errorf("%w%s", err, hostVarsAdvice)
	}
	return value, err
}

// get returns the element key of a mapping, a list or a text.
func get(args ...any) (any, error) {
	of, key := args[0], args[1]
	switch m := of.(type) {
	case nil:
		return nil, fmt.Errorf("cannot look up %v in null; use ?? or ?. where it may be missing", key)
	case map[string]any:
		k, ok := key.(string)
		if !ok {
			return nil, fmt.Errorf("a key must be a text, got %v", key)
		}
		v, ok := m[k]
		if !ok {
			return nil, fmt.Errorf("unknown name %q%s", k, NameHint(k, m))
		}
		return known(v)
	case string:
		return letter(m, key)
	}
	return runtime.Fetch(of, key), nil // panics are turned into errors by the vm
}

// letter returns a letter of a text; a negative place counts from the end.
func letter(text string, key any) (any, error) {
	place, ok := key.(int)
	letters := []rune(text)
	if ok && place < 0 {
		place += len(letters)
	}
	if !ok || place < 0 || place >= len(letters) {
		return nil, fmt.Errorf("cannot look up %v in a text of %d letters", key, len(letters))
	}
	return string(letters[place]), nil
}

// try is get for look-ups that may find nothing.
func try(args ...any) (any, error) {
	switch m := args[0].(type) {
	case nil:
		return nil, nil
	case map[string]any:
		k, _ := args[1].(string)
		return known(m[k])
	}
	return get(args...)
}

// has reports whether get would find an element.
func has(args ...any) (any, error) {
	switch m := args[0].(type) {
	case map[string]any:
		k, _ := args[1].(string)
		_, ok := m[k]
		return ok, nil
	case []any:
		i, ok := args[1].(int)
		return ok && i < len(m) && i >= -len(m), nil
	}
	return false, nil
}

// NameHint returns the end of an error about an unknown name: the task that gives it a
// value, its name here when Ansible has it, or a similar name of known.
func NameHint(name string, known map[string]any) string {
	if c, ok := known[contextVar].(*runContext); ok {
		if pos, ok := c.definers[name]; ok {
			return fmt.Sprintf("; %s sets it, but has not run on this host: it was skipped, or comes later", pos)
		}
	}
	if ours, ok := ansibleNames[name]; ok {
		return "; deployer calls it " + ours
	}
	if s := strictyaml.Suggest(name, slices.Collect(maps.Keys(known))); s != "" {
		return fmt.Sprintf("; did you mean %q?", s)
	}
	return ""
}
