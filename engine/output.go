package engine

import "encoding/json"

// Output is the data of a result, which later tasks can use under the name of
// `register`.
type Output map[string]any

// NewOutput returns the fields of a struct under their JSON names, with the types of
// encoding/json. It fails for a value that JSON cannot express.
func NewOutput(fields any) (Output, error) {
	raw, err := json.Marshal(fields)
	if err != nil {
		return nil, err
	}
	var out Output
	return out, json.Unmarshal(raw, &out)
}

// Decode decodes the output into v, a pointer, under the JSON names of its fields. It
// returns the error of encoding/json when a value has another type than its field.
func (o Output) Decode(v any) error {
	raw, err := json.Marshal(o)
	if err != nil {
		return err
	}
	return json.Unmarshal(raw, v)
}
