package dialect

import (
	"errors"
	"fmt"
	"reflect"
)

const (
	// itemWeight is the memory in bytes of an item of a list of texts: an interface and the
	// head of the text, and room for the list to grow.
	itemWeight = 48
	// valueWeight is the memory in bytes of any other value in a list or a mapping.
	valueWeight = 16
	// deepest is the maximum depth of a value, that of encoding/json.
	deepest = 10_000
)

// BoundText returns an error for a text of so many bytes when it would take more than 64 MiB.
func BoundText(bytes int) error { return bound("text", bytes) }

// BoundList returns an error for a list of so many texts when it would take more than 64 MiB
// without the texts.
func BoundList(items int) error {
	if items > maxDecoded/itemWeight {
		return fmt.Errorf("the list has %d items, the limit is %d; let the command that prints the text select what is needed", items, maxDecoded/itemWeight)
	}
	return nil
}

// times returns a product that is at most the maximum of an int.
func times(a, b int) int {
	if a > 0 && b > (1<<62)/a {
		return 1 << 62
	}
	return a * b
}

func bound(what string, bytes int) error {
	if bytes > maxDecoded || bytes < 0 {
		return fmt.Errorf("the %s would take more than %d MiB of memory; let the command that prints it select what is needed", what, maxDecoded>>20)
	}
	return nil
}

// recursing are the filters and tests that walk whole values: the value and the arguments are
// weighed before.
var recursing = []string{"flatten", "unique", "union", "intersect", "difference", "symmetric_difference", "combine", "in", "contains", "subset", "superset",
	"eq", "equalto", "sameas", "ne"}

var errTooDeep = fmt.Errorf("the value is deeper than %d lists and mappings", deepest)

// BoundValue returns an error for a value that would take more than 64 MiB when it is printed
// or copied: a list may have the same list many times, and that one another. indent is the
// number of blanks before each line for each level; 0 prints one line.
func BoundValue(v any, indent int) error {
	s := &scale{left: maxDecoded, indent: indent}
	s.add(v, 0)
	switch {
	case s.tooDeep:
		return errTooDeep
	case s.left < 0:
		return bound("value", -1)
	}
	return nil
}

// scale weighs a value until nothing is left of a limit.
type scale struct {
	left, indent int
	tooDeep      bool
}

func (s *scale) add(v any, depth int) {
	if s.left < 0 || s.tooDeep {
		return
	}
	if s.tooDeep = depth > deepest; s.tooDeep {
		return
	}
	s.left -= valueWeight + depth*s.indent
	switch t := v.(type) {
	case nil, bool, int, float64:
	case string:
		s.left -= len(t)
	case []any:
		for _, e := range t {
			s.add(e, depth+1)
		}
	case map[string]any:
		for k, e := range t {
			s.left -= len(k) + valueWeight
			s.add(e, depth+1)
		}
	default:
		s.addOther(reflect.ValueOf(v), depth)
	}
}

// addOther weighs what functions of templates make: lists and mappings of other types.
func (s *scale) addOther(r reflect.Value, depth int) {
	switch r.Kind() {
	case reflect.String:
		s.left -= r.Len()
	case reflect.Slice, reflect.Array:
		if r.Type().Elem().Kind() == reflect.Uint8 {
			s.left -= r.Len()
			return
		}
		for i := range r.Len() {
			s.add(r.Index(i).Interface(), depth+1)
		}
	case reflect.Map:
		for it := r.MapRange(); it.Next(); {
			s.add(it.Key().Interface(), depth+1)
			s.add(it.Value().Interface(), depth+1)
		}
	}
}

// boundResult returns an error for the result of a function that would take more than 64 MiB.
// It looks at the result only and not into it: what is in it was bounded before.
func boundResult(v any) error {
	switch t := v.(type) {
	case nil, bool, int, float64, map[string]any:
		return nil
	case string:
		return BoundText(len(t))
	case []any:
		return boundItems(len(t))
	}
	if r := reflect.ValueOf(v); r.Kind() == reflect.Slice {
		return boundItems(r.Len())
	}
	return nil
}

func boundItems(n int) error {
	if n > maxDecoded/valueWeight {
		return errors.New("the list has more than 4 million items")
	}
	return nil
}
