package cluster_test

import (
	"reflect"
	"testing"

	"gopkg.in/yaml.v3"

	"deployer/cluster"
	"deployer/strictyaml"
)

// TestDocumentedDefaultsAreTheRealOnes: the defaults in the reference and the schema
// are those in force.
func TestDocumentedDefaultsAreTheRealOnes(t *testing.T) {
	seen := 0
	var compare func(path string, v reflect.Value)
	compare = func(path string, v reflect.Value) {
		for i := range v.NumField() {
			field, value := v.Type().Field(i), v.Field(i)
			at := path + "." + field.Tag.Get("yaml")
			if value.Kind() == reflect.Struct {
				compare(at, value)
				continue
			}
			text, ok := field.Tag.Lookup("default")
			if !ok {
				continue
			}
			seen++
			want := reflect.New(field.Type)
			node := &yaml.Node{Kind: yaml.ScalarNode, Value: text}
			if err := strictyaml.Decode(at, node, want.Interface()); err != nil {
				t.Errorf("the default %q is not a value of the key: %v", text, err)
				continue
			}
			if got, want := reflect.Indirect(value), reflect.Indirect(want.Elem()); !reflect.DeepEqual(got.Interface(), want.Interface()) {
				t.Errorf("%s: the default is %v, and documented as %s", at, got, text)
			}
		}
	}
	compare("cluster", reflect.ValueOf(cluster.Spec{}.WithDefaults()))
	if seen < 30 {
		t.Errorf("only %d defaults were found", seen)
	}
}
