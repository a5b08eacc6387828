package dialect

import (
	"fmt"
	"maps"
	"slices"
)

func mappingFilters() map[string]filter {
	return map[string]filter{
		"dict2items": {do: dictToItems, most: 2},
		"items":      {do: pairs},
		"items2dict": {do: itemsToDict, most: 2},
		"combine":    {do: combine, most: -1},
		"dictsort":   {do: sortedPairs, most: 3},
	}
}

func (c *call) mapping() (map[string]any, error) {
	if m, ok := c.value.(map[string]any); ok {
		return m, nil
	}
	return nil, fmt.Errorf("want a mapping, got %s", describe(c.value))
}

func dictToItems(c *call) (any, error) {
	m, err := c.mapping()
	if err != nil {
		return nil, err
	}
	key, err := c.text(0, "key_name", "key")
	if err != nil {
		return nil, err
	}
	value, err := c.text(1, "value_name", "value")
	out := make([]any, 0, len(m))
	for _, k := range slices.Sorted(maps.Keys(m)) {
		out = append(out, map[string]any{key: k, value: m[k]})
	}
	return out, err
}

func pairs(c *call) (any, error) {
	m, err := c.mapping()
	out := make([]any, 0, len(m))
	for _, k := range slices.Sorted(maps.Keys(m)) {
		out = append(out, []any{k, m[k]})
	}
	return out, err
}

// sortedPairs sorts the pairs of a mapping by key or by value.
func sortedPairs(c *call) (any, error) {
	out, err := pairs(c)
	if err != nil {
		return nil, err
	}
	by, err := c.text(1, "by", "key")
	if err != nil || by != "key" && by != "value" {
		return nil, fmt.Errorf("by: want key or value, got %q", by)
	}
	at := map[string]int{"key": 0, "value": 1}[by]
	list := out.([]any) //nolint:forcetypeassert // pairs returns a list of lists
	sortItems(list, c.flag(0, "case_sensitive"), c.flag(2, "reverse"), func(v any) any { return v.([]any)[at] })
	return list, nil
}

func itemsToDict(c *call) (any, error) {
	l, err := c.items()
	if err != nil {
		return nil, err
	}
	key, value := c.arg(0, "key_name", "key"), c.arg(1, "value_name", "value")
	out := map[string]any{}
	for i, e := range l {
		k, ok := attribute(e, key)
		name, isText := k.(string)
		v, good := attribute(e, value)
		if !ok || !isText || !good {
			return nil, fmt.Errorf("item %d: want a mapping with %v, a text, and %v", i, key, value)
		}
		out[name] = v
	}
	return out, nil
}

// combine merges mappings, of which the last wins; with recursive=true nested mappings are
// merged, too.
func combine(c *call) (any, error) {
	m, err := c.mapping()
	if err != nil {
		return nil, err
	}
	recursive := c.flag(-1, "recursive")
	lists, err := c.text(-1, "list_merge", "replace")
	if err != nil {
		return nil, err
	}
	if !slices.Contains([]string{"replace", "keep", "append", "prepend"}, lists) {
		return nil, fmt.Errorf("list_merge %q: want replace, keep, append or prepend", lists)
	}
	out := maps.Clone(m)
	if out == nil {
		out = map[string]any{}
	}
	for _, a := range flat(c.args, -1) {
		over, ok := a.(map[string]any)
		if !ok {
			return nil, fmt.Errorf("want mappings, got %s", describe(a))
		}
		out = merge(out, over, recursive, lists)
	}
	return out, nil
}

func merge(under, over map[string]any, recursive bool, lists string) map[string]any {
	out := maps.Clone(under)
	for k, v := range over {
		old, was := out[k].(map[string]any)
		inner, is := v.(map[string]any)
		a, isList := list(out[k])
		b, both := list(v)
		switch {
		case recursive && was && is:
			v = merge(old, inner, recursive, lists)
		case isList && both && lists == "append":
			v = append(slices.Clip(a), b...)
		case isList && both && lists == "prepend":
			v = append(slices.Clip(b), a...)
		case isList && both && lists == "keep":
			v = a
		}
		out[k] = v
	}
	return out
}
