package dialect

import (
	"fmt"
	"reflect"
)

var errorType = reflect.TypeFor[error]()

// adapt converts a function of templates to one of expressions. With last, its first
// argument becomes the last one, because | in a template passes the value in front of it as
// the last argument.
func adapt(name string, fn any, last bool) Func {
	f := reflect.ValueOf(fn)
	t := f.Type()
	return func(args ...any) (any, error) {
		if last && len(args) > 1 {
			args = append(append([]any{}, args[1:]...), args[0])
		}
		in, err := arguments(name, t, args)
		if err != nil {
			return nil, err
		}
		out := f.Call(in)
		if n := len(out); n > 1 && out[n-1].Type().Implements(errorType) && !out[n-1].IsNil() {
			return nil, fmt.Errorf("%s: %w", name, out[n-1].Interface().(error)) //nolint:forcetypeassert // just checked
		}
		return plain(out[0].Interface()), nil
	}
}

// arguments converts values to the parameter types of a function.
func arguments(name string, t reflect.Type, args []any) ([]reflect.Value, error) {
	least := t.NumIn()
	if t.IsVariadic() {
		least--
	}
	if len(args) < least || !t.IsVariadic() && len(args) > least {
		return nil, fmt.Errorf("%s takes %d arguments, and here are %d", name, least, len(args))
	}
	in := make([]reflect.Value, len(args))
	for i, a := range args {
		want := t.In(min(i, t.NumIn()-1))
		if t.IsVariadic() && i >= least {
			want = want.Elem()
		}
		v, ok := converted(a, want)
		if !ok {
			return nil, fmt.Errorf("%s: argument %d is %s, want %s", name, i+1, describe(a), kindName(want))
		}
		in[i] = v
	}
	return in, nil
}

func converted(a any, want reflect.Type) (reflect.Value, bool) {
	if a == nil {
		return reflect.Zero(want), want.Kind() == reflect.Interface
	}
	v := reflect.ValueOf(a)
	if v.Type().AssignableTo(want) {
		return v, true
	}
	switch want.Kind() {
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64, reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		if n, ok := toInt(a); ok {
			return reflect.ValueOf(n).Convert(want), true
		}
	case reflect.Float32, reflect.Float64:
		if f, ok := toFloat(a); ok {
			return reflect.ValueOf(f).Convert(want), true
		}
	case reflect.Slice:
		items, ok := list(a)
		if !ok {
			return v, false
		}
		out := reflect.MakeSlice(want, len(items), len(items))
		for i, item := range items {
			e, ok := converted(item, want.Elem())
			if !ok {
				return v, false
			}
			out.Index(i).Set(e)
		}
		return out, true
	}
	return v, false
}

func kindName(t reflect.Type) string {
	switch t.Kind() {
	case reflect.String:
		return "a text"
	case reflect.Slice:
		return "a list"
	case reflect.Map:
		return "a mapping"
	case reflect.Bool:
		return "true or false"
	case reflect.Int, reflect.Int64:
		return "a whole number"
	}
	return "a " + t.String()
}
