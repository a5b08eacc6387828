package dialect

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"unicode/utf8"
)

func listFilters() map[string]filter {
	return map[string]filter{
		"list":                 {do: asList, piped: true},
		"length":               {do: length},
		"count":                {do: length},
		"first":                {do: func(c *call) (any, error) { return c.at(0) }},
		"last":                 {do: func(c *call) (any, error) { return c.at(-1) }},
		"min":                  {do: func(c *call) (any, error) { return c.extreme(-1) }},
		"max":                  {do: func(c *call) (any, error) { return c.extreme(1) }},
		"sum":                  {do: sum, most: 2},
		"join":                 {do: join, most: 2},
		"unique":               {do: unique, most: 2},
		"union":                {do: func(c *call) (any, error) { return c.setWith(func([]any, any) bool { return true }, true) }, most: 1},
		"intersect":            {do: func(c *call) (any, error) { return c.setWith(has, false) }, most: 1},
		"difference":           {do: func(c *call) (any, error) { return c.setWith(func(l []any, v any) bool { return !has(l, v) }, false) }, most: 1},
		"symmetric_difference": {do: symmetric, most: 1},
		"flatten":              {do: flatten, most: 1},
		"sort":                 {do: sorted, most: 3},
		"zip":                  {do: zip, most: -1},
		"map":                  {do: mapped, most: -1, piped: true},
		"select":               {do: func(c *call) (any, error) { return c.selected(0, false, true) }, most: -1},
		"reject":               {do: func(c *call) (any, error) { return c.selected(0, false, false) }, most: -1},
		"selectattr":           {do: func(c *call) (any, error) { return c.selected(1, true, true) }, most: -1},
		"rejectattr":           {do: func(c *call) (any, error) { return c.selected(1, true, false) }, most: -1},
		"extract":              {do: extract, most: 2},
		"subelements":          {do: subelements, most: 2},
	}
}

// items returns the elements of a list, the keys of a mapping, or the characters of a text.
func (c *call) items() ([]any, error) {
	if l, ok := list(c.value); ok {
		return l, nil
	}
	switch t := c.value.(type) {
	case map[string]any:
		out := make([]any, 0, len(t))
		for _, k := range slices.Sorted(maps.Keys(t)) {
			out = append(out, k)
		}
		return out, nil
	case string:
		if err := BoundList(utf8.RuneCountInString(t)); err != nil {
			return nil, err
		}
		out := []any{}
		for _, r := range t {
			out = append(out, string(r))
		}
		return out, nil
	}
	return nil, fmt.Errorf("want a list, got %s", describe(c.value))
}

func asList(c *call) (any, error) { return c.items() }

func length(c *call) (any, error) {
	if s, ok := c.value.(string); ok {
		return utf8.RuneCountInString(s), nil
	}
	l, err := c.items()
	return len(l), err
}

func (c *call) at(i int) (any, error) {
	l, err := c.items()
	if err != nil || len(l) == 0 {
		return nil, err
	}
	if i < 0 {
		i += len(l)
	}
	return l[i], nil
}

// compare orders numbers by value, and everything else by its text.
func compare(a, b any) int {
	x, ok := toFloat(a)
	y, good := toFloat(b)
	if ok && good {
		return cmp.Compare(x, y)
	}
	left, _ := Print(a)
	right, _ := Print(b)
	return cmp.Compare(left, right)
}

func (c *call) extreme(sign int) (any, error) {
	l, err := c.items()
	if err != nil {
		return nil, err
	}
	if len(l) == 0 {
		return nil, errors.New("the list is empty")
	}
	best := l[0]
	for _, e := range l[1:] {
		if compare(folded(e, false), folded(best, false))*sign > 0 {
			best = e
		}
	}
	return best, nil
}

func sum(c *call) (any, error) {
	l, err := c.attributes()
	if err != nil {
		return nil, err
	}
	total := c.arg(1, "start", 0)
	if start, ok := list(total); ok {
		for _, e := range l {
			more, ok := list(e)
			if !ok {
				return nil, fmt.Errorf("want lists, got %s", describe(e))
			}
			start = append(slices.Clip(start), more...)
		}
		return start, nil
	}
	f, _ := toFloat(total)
	for _, e := range l {
		n, ok := toFloat(e)
		if !ok {
			return nil, fmt.Errorf("want numbers, got %s", describe(e))
		}
		f += n
	}
	if n, ok := toInt(f); ok {
		return n, nil
	}
	return f, nil
}

// attributes returns the items, or the field of each item that `attribute` names.
func (c *call) attributes() ([]any, error) {
	l, err := c.items()
	name := c.arg(-1, "attribute", nil)
	if err != nil || name == nil {
		return l, err
	}
	out := make([]any, len(l))
	for i, e := range l {
		v, ok := attribute(e, name)
		if !ok {
			return nil, fmt.Errorf("item %d has no %v", i, name)
		}
		out[i] = v
	}
	return out, nil
}

// attribute returns a field, also of a field, as in a.b, or an element of a list.
func attribute(v, name any) (any, bool) {
	if i, ok := toInt(name); ok {
		l, isList := list(v)
		if !isList || i < 0 || i >= len(l) {
			return nil, false
		}
		return l[i], true
	}
	path, ok := name.(string)
	if !ok {
		return nil, false
	}
	for _, step := range strings.Split(path, ".") {
		m, ok := v.(map[string]any)
		if !ok {
			return nil, false
		}
		if v, ok = m[step]; !ok {
			return nil, false
		}
	}
	return v, true
}

func join(c *call) (any, error) {
	l, err := c.attributes()
	if err != nil {
		return nil, err
	}
	by, err := c.text(0, "d", "")
	if err != nil {
		return nil, err
	}
	parts := make([]string, len(l))
	size := times(len(l), len(by))
	for i, e := range l {
		if parts[i], err = Print(e); err != nil {
			return nil, fmt.Errorf("item %d: %w", i, err)
		}
		size += len(parts[i])
		if err := BoundText(size); err != nil {
			return nil, err
		}
	}
	return strings.Join(parts, by), nil
}

func flatten(c *call) (any, error) {
	l, err := c.items()
	if err != nil {
		return nil, err
	}
	levels, err := c.number(0, "levels", -1)
	return flat(l, levels), err
}

func flat(l []any, levels int) []any {
	out := []any{}
	for _, e := range l {
		inner, ok := list(e)
		switch {
		case e == nil || e == "None" || e == "null": // Ansible leaves them out
		case ok && levels != 0:
			out = append(out, flat(inner, levels-1)...)
		default:
			out = append(out, e)
		}
	}
	return out
}

func sorted(c *call) (any, error) {
	l, err := c.items()
	if err != nil {
		return nil, err
	}
	reverse, exact, field := c.flag(0, "reverse"), c.flag(1, "case_sensitive"), c.arg(2, "attribute", nil)
	l = slices.Clone(l)
	sortItems(l, exact, reverse, func(v any) any {
		if field != nil {
			v, _ = attribute(v, field)
		}
		return v
	})
	return l, nil
}

// sortItems sorts items by a key; unless exact, texts that differ only in case are equal.
func sortItems(l []any, exact, reverse bool, of func(any) any) {
	slices.SortStableFunc(l, func(a, b any) int {
		if reverse {
			a, b = b, a
		}
		return compare(folded(of(a), exact), folded(of(b), exact))
	})
}

// folded returns a text in lower case, unless exact, and any other value unchanged.
func folded(v any, exact bool) any {
	if s, ok := v.(string); ok && !exact {
		return strings.ToLower(s)
	}
	return v
}

func zip(c *call) (any, error) {
	first, err := c.items()
	if err != nil {
		return nil, err
	}
	all := [][]any{first}
	least := len(first)
	for _, a := range c.args {
		l, ok := list(a)
		if !ok {
			return nil, fmt.Errorf("want lists, got %s", describe(a))
		}
		all, least = append(all, l), min(least, len(l))
	}
	out := make([]any, least)
	for i := range out {
		row := make([]any, len(all))
		for j, l := range all {
			row[j] = l[i]
		}
		out[i] = row
	}
	return out, nil
}
