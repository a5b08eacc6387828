package strictyaml

import (
	"reflect"

	"gopkg.in/yaml.v3"
)

// Map is a mapping that keeps the order and the places of its keys.
type Map[V any] []Entry[V]

// Entry is one pair of a Map.
type Entry[V any] struct {
	Key   string
	Pos   Pos // of the key
	Value V
}

// Get returns the value of a key.
func (m Map[V]) Get(key string) (value V, ok bool) {
	for _, e := range m {
		if e.Key == key {
			return e.Value, true
		}
	}
	return value, false
}

// Keys returns the keys in the order of the file.
func (m Map[V]) Keys() []string {
	out := make([]string, len(m))
	for i, e := range m {
		out[i] = e.Key
	}
	return out
}

// ordered is the interface by which the decoder fills a Map without knowing its type.
type ordered interface {
	reset(capacity int)
	put(file string, key *yaml.Node) reflect.Value
	valueType() reflect.Type
}

func (m *Map[V]) reset(capacity int) { *m = make(Map[V], 0, capacity) }

// put appends an entry and returns its value, to be set before the next put.
func (m *Map[V]) put(file string, key *yaml.Node) reflect.Value {
	*m = append(*m, Entry[V]{Key: key.Value, Pos: At(file, key)})
	return reflect.ValueOf(&(*m)[len(*m)-1].Value).Elem()
}

func (*Map[V]) valueType() reflect.Type { return reflect.TypeFor[V]() }
