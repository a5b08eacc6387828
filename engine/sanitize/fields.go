package sanitize

import "reflect"

// Fields makes every text that v points to one line (see Line): exported fields, elements of
// lists and values of mappings, at any depth. It is for values that are made of answers of
// hosts, such as those of the API of a cluster, and are shown in rows. Keys of mappings, and
// what further pointers and interfaces lead to, stay. v must be a pointer to a struct, which
// nobody else changes meanwhile.
func Fields[T any](v *T) { cleanFields(reflect.ValueOf(v).Elem()) }

func cleanFields(v reflect.Value) {
	switch v.Kind() {
	case reflect.String:
		v.SetString(Line(v.String()))
	case reflect.Struct:
		for i := range v.NumField() {
			if v.Type().Field(i).IsExported() {
				cleanFields(v.Field(i))
			}
		}
	case reflect.Slice, reflect.Array:
		for i := range v.Len() {
			cleanFields(v.Index(i))
		}
	case reflect.Map:
		for _, key := range v.MapKeys() {
			element := reflect.New(v.Type().Elem()).Elem() // elements of a mapping cannot be set
			element.Set(v.MapIndex(key))
			cleanFields(element)
			v.SetMapIndex(key, element)
		}
	}
}
