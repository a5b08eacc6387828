package strictyaml

import (
	"reflect"

	"gopkg.in/yaml.v3"
)

// Section is a value that is decoded strictly and keeps its node, for callers that
// merge several such values and need their places.
type Section[V any] struct {
	Node  *yaml.Node // nil when the key is absent
	Value V
}

type section interface {
	keep(n *yaml.Node) reflect.Value
	innerType() reflect.Type
}

func (s *Section[V]) keep(n *yaml.Node) reflect.Value {
	s.Node = n
	return reflect.ValueOf(&s.Value).Elem()
}

func (*Section[V]) innerType() reflect.Type { return reflect.TypeFor[V]() }
