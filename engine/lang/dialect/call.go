package dialect

import (
	"fmt"
	"slices"
)

// named is an argument with its name.
type named struct {
	name  string
	value any
}

func makeNamed(args ...any) (any, error) {
	name, _ := args[0].(string)
	return named{name, args[1]}, nil
}

// call is a call of a filter: the value before |, the positional arguments, and the named
// ones.
type call struct {
	value any
	args  []any
	named map[string]any
	used  map[string]bool
}

// arg returns an argument by its position, from 0, or its name; otherwise when it is
// missing.
func (c *call) arg(i int, name string, otherwise any) any {
	if v, ok := c.named[name]; ok {
		c.used[name] = true
		return v
	}
	if i >= 0 && i < len(c.args) {
		return c.args[i]
	}
	return otherwise
}

func (c *call) text(i int, name, otherwise string) (string, error) {
	v := c.arg(i, name, otherwise)
	s, ok := v.(string)
	if !ok {
		return "", fmt.Errorf("%s: want a text, got %s", name, describe(v))
	}
	return s, nil
}

func (c *call) number(i int, name string, otherwise int) (int, error) {
	v := c.arg(i, name, otherwise)
	if n, ok := toInt(v); ok {
		return n, nil
	}
	return 0, fmt.Errorf("%s: want a whole number, got %s", name, describe(v))
}

func (c *call) flag(i int, name string) bool { return Truthy(c.arg(i, name, false)) }

// positional converts a filter to a function of expressions.
func positional(name string, f filter) Func {
	return func(args ...any) (any, error) {
		c := &call{named: map[string]any{}, used: map[string]bool{}}
		var list []any
		for _, a := range args {
			if n, ok := a.(named); ok {
				c.named[n.name] = n.value
				continue
			}
			list = append(list, a)
		}
		if len(list) == 0 {
			return nil, fmt.Errorf("%s: want a value: VALUE | %[1]s, or %[1]s(VALUE)", name)
		}
		c.value, c.args = list[0], list[1:]
		if f.most >= 0 && len(c.args) > f.most {
			return nil, fmt.Errorf("%s takes %d arguments beside its value, and here are %d", name, f.most, len(c.args))
		}
		if slices.Contains(recursing, name) {
			if err := BoundValue(list, 0); err != nil {
				return nil, fmt.Errorf("%s: %w", name, err)
			}
		}
		out, err := f.do(c)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		if err := boundResult(out); err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		for n := range c.named {
			if !c.used[n] {
				return nil, fmt.Errorf("%s takes no argument %q", name, n)
			}
		}
		return out, nil
	}
}
