package strictyaml

import (
	"encoding"
	"reflect"
	"strings"
	"sync"
	"time"

	"gopkg.in/yaml.v3"
)

// field is a key of a struct, with the contents of its tags.
type field struct {
	name     string
	index    []int // as for reflect.Value.FieldByIndexAlloc
	typ      reflect.Type
	doc      string
	def      string
	itemNoun string
	enum     []string
	rule     string // of package argrule, for texts and lists and mappings of them
	keyRule  string // of package argrule, for the keys of a mapping
	required bool
	limits   *limits // of a number or a duration; nil for none
}

// shape describes the keys of a mapping that is decoded into a struct.
type shape struct {
	fields []field
	byName map[string]*field
	// rest is the inline map that takes all other keys, if there is one.
	rest *field
}

func (s *shape) names() []string {
	out := make([]string, len(s.fields))
	for i, f := range s.fields {
		out[i] = f.name
	}
	return out
}

// shapes caches shapeOf: a controller decodes the same few types a million times.
var shapes sync.Map // reflect.Type -> *shape

// shapeOf returns the shape of a struct type. Callers must not change it.
func shapeOf(t reflect.Type) *shape {
	if known, ok := shapes.Load(t); ok {
		return known.(*shape)
	}
	s := readShape(t)
	shapes.Store(t, s)
	return s
}

func readShape(t reflect.Type) *shape {
	s := &shape{byName: map[string]*field{}}
	s.add(t, nil)
	for i := range s.fields {
		if f := &s.fields[i]; s.byName[f.name] == nil { // outer fields win, as in Go
			s.byName[f.name] = f
		}
	}
	return s
}

func (s *shape) add(t reflect.Type, prefix []int) {
	var nested []reflect.StructField
	for i := range t.NumField() {
		sf := t.Field(i)
		name, options, _ := strings.Cut(sf.Tag.Get("yaml"), ",")
		if name == "-" || !sf.IsExported() && !sf.Anonymous {
			continue
		}
		sf.Index = append(append([]int{}, prefix...), sf.Index...)
		inner := indirect(sf.Type)
		inline := strings.Contains(options, "inline") || sf.Anonymous && name == ""
		switch {
		case inline && inner.Kind() == reflect.Struct:
			nested = append(nested, sf)
		case inline && inner.Kind() == reflect.Map:
			s.rest = &field{index: sf.Index, typ: sf.Type, doc: sf.Tag.Get("doc"), itemNoun: sf.Tag.Get("each")}
		case sf.IsExported():
			s.fields = append(s.fields, newField(sf, name))
		}
	}
	for _, sf := range nested {
		s.add(indirect(sf.Type), sf.Index)
	}
}

func newField(sf reflect.StructField, name string) field {
	f := field{name: name, index: sf.Index, typ: sf.Type, doc: sf.Tag.Get("doc"), def: sf.Tag.Get("default"),
		itemNoun: sf.Tag.Get("each"), required: sf.Tag.Get("required") == "true"}
	f.rule, f.keyRule, f.limits = sf.Tag.Get("rule"), sf.Tag.Get("keys"), readLimits(sf)
	if f.name == "" {
		f.name = strings.ToLower(sf.Name)
	}
	if enum := sf.Tag.Get("enum"); enum != "" {
		f.enum = strings.Split(enum, ",")
	}
	return f
}

func indirect(t reflect.Type) reflect.Type {
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	return t
}

// fieldValue returns the field of a struct, and allocates embedded pointers on the
// way.
func fieldValue(v reflect.Value, index []int) reflect.Value {
	for i, x := range index {
		if i > 0 && v.Kind() == reflect.Pointer {
			if v.IsNil() {
				v.Set(reflect.New(v.Type().Elem()))
			}
			v = v.Elem()
		}
		v = v.Field(x)
	}
	return v
}

// kind is the way in which a type is decoded.
type kind int

const (
	kindPlain kind = iota
	kindNode
	kindDuration
	kindOrdered   // Map
	kindSection   // Section
	kindUnmarshal // UnmarshalYAML
	kindText      // UnmarshalText
)

// kinds caches kindOf, for the same reason as shapes.
var kinds sync.Map // reflect.Type -> kind

func kindOf(t reflect.Type) kind {
	if known, ok := kinds.Load(t); ok {
		return known.(kind)
	}
	k := findKind(t)
	kinds.Store(t, k)
	return k
}

func findKind(t reflect.Type) kind {
	switch p := reflect.PointerTo(t); {
	case t == reflect.TypeFor[yaml.Node]():
		return kindNode
	case t == reflect.TypeFor[time.Duration]():
		return kindDuration
	case p.Implements(reflect.TypeFor[ordered]()):
		return kindOrdered
	case p.Implements(reflect.TypeFor[section]()):
		return kindSection
	case p.Implements(reflect.TypeFor[yaml.Unmarshaler]()):
		return kindUnmarshal
	case p.Implements(reflect.TypeFor[encoding.TextUnmarshaler]()):
		return kindText
	}
	return kindPlain
}
