package dialect

import (
	"errors"
	"fmt"
	"slices"
)

func has(l []any, v any) bool {
	return slices.ContainsFunc(l, func(e any) bool { return equal(e, v) })
}

// set returns the items that fit, each once; with more, those of the other list, too.
func (c *call) set(other []any, fits func(other []any, v any) bool, more bool) (any, error) {
	l, err := c.items()
	if err != nil {
		return nil, err
	}
	if more {
		l = append(slices.Clip(l), other...)
	}
	out := []any{}
	for _, e := range l {
		if fits(other, e) && !has(out, e) {
			out = append(out, e)
		}
	}
	return out, nil
}

func (c *call) setWith(fits func(other []any, v any) bool, more bool) (any, error) {
	other, ok := list(c.arg(0, "other", nil))
	if !ok {
		return nil, errors.New("want another list in parentheses")
	}
	return c.set(other, fits, more)
}

// unique keeps the first of equal items; texts that differ only in case are equal unless
// case_sensitive is set.
func unique(c *call) (any, error) {
	l, err := c.items()
	if err != nil {
		return nil, err
	}
	exact, field := c.flag(0, "case_sensitive"), c.arg(1, "attribute", nil)
	out, seen := []any{}, []any{}
	for i, e := range l {
		key := e
		if field != nil {
			var ok bool
			if key, ok = attribute(e, field); !ok {
				return nil, fmt.Errorf("item %d has no %v", i, field)
			}
		}
		if key = folded(key, exact); !has(seen, key) {
			out, seen = append(out, e), append(seen, key)
		}
	}
	return out, nil
}

func symmetric(c *call) (any, error) {
	l, err := c.items()
	if err != nil {
		return nil, err
	}
	other, _ := list(c.arg(0, "other", nil))
	return c.set(other, func(_ []any, v any) bool { return has(l, v) != has(other, v) }, true)
}
