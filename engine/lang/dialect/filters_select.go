package dialect

import (
	"errors"
	"fmt"
)

// mapped is the filter map(attribute='name') or map('filter', arguments).
func mapped(c *call) (any, error) {
	l, err := c.items()
	if err != nil {
		return nil, err
	}
	out := make([]any, len(l))
	if field := c.arg(-1, "attribute", nil); field != nil {
		otherwise, given := c.named["default"]
		c.used["default"] = true
		for i, e := range l {
			v, ok := attribute(e, field)
			if !ok && !given {
				return nil, fmt.Errorf("item %d has no %v; give it one with default=", i, field)
			}
			if !ok {
				v = otherwise
			}
			out[i] = v
		}
		return out, nil
	}
	name, err := c.text(0, "filter", "")
	if err != nil {
		return nil, err
	}
	f, ok := filters()[name]
	if !ok {
		return nil, fmt.Errorf("there is no filter %q; write what is to be done with each item, which is #: map(upper(#))", name)
	}
	args := c.args[1:]
	for i, e := range l {
		inner := &call{value: e, args: args, named: c.named, used: c.used}
		if out[i], err = f.do(inner); err != nil {
			return nil, fmt.Errorf("item %d: %s: %w", i, name, err)
		}
	}
	return out, nil
}

// selected keeps the items for which a test holds, or does not hold. Without a test, the
// item or its field must exist and be true.
func (c *call) selected(test int, field, keep bool) (any, error) {
	l, err := c.items()
	if err != nil {
		return nil, err
	}
	if field && len(c.args) == 0 {
		return nil, errors.New("want the name of a field")
	}
	name, err := c.text(test, "test", "")
	if err != nil {
		return nil, err
	}
	var with []any
	if len(c.args) > test+1 {
		with = c.args[test+1:]
	}
	out := []any{}
	for _, e := range l {
		v, ok := e, true
		if field {
			v, ok = attribute(e, c.args[0])
		}
		holds, err := testHolds(name, v, ok, with)
		if err != nil {
			return nil, err
		}
		if holds == keep {
			out = append(out, e)
		}
	}
	return out, nil
}

func extract(c *call) (any, error) {
	v, ok := attribute(c.arg(0, "container", nil), c.value)
	if !ok {
		return nil, fmt.Errorf("there is no %v", c.value)
	}
	if more := c.arg(1, "morekeys", nil); more != nil {
		keys, isList := list(more)
		if !isList {
			keys = []any{more}
		}
		for _, k := range keys {
			if v, ok = attribute(v, k); !ok {
				return nil, fmt.Errorf("%v has no %v", c.value, k)
			}
		}
	}
	return v, nil
}

// subelements pairs each item with each element of the list in one of its fields.
func subelements(c *call) (any, error) {
	l, err := c.items()
	if err != nil {
		return nil, err
	}
	field, skip := c.arg(0, "subelements", ""), c.flag(1, "skip_missing")
	out := []any{}
	for i, e := range l {
		v, ok := attribute(e, field)
		inner, isList := list(v)
		if !isList {
			if skip && !ok {
				continue
			}
			return nil, fmt.Errorf("item %d has no list %v", i, field)
		}
		for _, sub := range inner {
			out = append(out, []any{e, sub})
		}
	}
	return out, nil
}
