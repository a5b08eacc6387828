package strictyaml_test

import (
	"encoding/json"
	"errors"
	"testing"

	"deployer/strictyaml"
)

// FuzzDecode holds that no input makes the reader panic, that every error
// about a document has a place in it, and that free values are what JSON has.
func FuzzDecode(f *testing.F) {
	for _, seed := range []string{"", "a: 1", "hosts: {m1: {address: a}}", "free: &x {a: *x}", "a: [m[1:3]]", "<<: {a: 1}",
		"? [a]\n: b", "a: !!binary x", "free: {<<: [{a: 1}]}", "- &a b\n- *a", "text: !secret x", "a: 'x", "\tx", "%YAML 1.2\n---\na: 1"} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		n, err := strictyaml.Parse("f", data)
		if err != nil {
			placed(t, err)
			return
		}
		_, err = strictyaml.ResolveTags("f", n, func(s string) (string, bool) { return s, len(s)%2 == 0 })
		placed(t, err)
		var d doc
		placed(t, strictyaml.Decode("f", n, &d))
		placed(t, strictyaml.CheckKeys("f", n, &doc{}))
		var free any
		placed(t, strictyaml.Decode("f", n, &free))
		if _, err := json.Marshal(free); err != nil {
			t.Errorf("not JSON: %v", err)
		}
	})
}

func placed(t *testing.T, err error) {
	t.Helper()
	var errs strictyaml.Errors
	if err == nil {
		return
	}
	if !errors.As(err, &errs) {
		t.Fatalf("error of type %T: %v", err, err)
	}
	for _, e := range errs {
		if e.File != "f" || e.Line < 1 {
			t.Errorf("no place: %+v", e)
		}
	}
}
