package strictyaml

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestTexts(t *testing.T) {
	t.Parallel()
	type document struct {
		Name Texts `yaml:"name" doc:"x"`
	}
	for text, want := range map[string]struct {
		names Texts
		err   string
	}{
		"name: a":          {names: Texts{"a"}},
		"name: 1.10":       {names: Texts{"1.10"}},
		"name: [a, 2, no]": {names: Texts{"a", "2", "no"}},
		"name: []":         {names: Texts{}},
		"name:":            {},
		"name: {a: b}":     {err: "f:1:7: want a text or a list of texts"},
		"name: [a, [b]]":   {err: "f:1:11: want a text or a list of texts"},
	} {
		node, err := Parse("f", []byte(text))
		if err != nil {
			t.Fatal(err)
		}
		var got document
		switch err := Decode("f", node, &got); {
		case err != nil && err.Error() != want.err, err == nil && want.err != "":
			t.Errorf("%s: error %v, want %q", text, err, want.err)
		case cmp.Diff(want.names, got.Name) != "":
			t.Errorf("%s: %s", text, cmp.Diff(want.names, got.Name))
		}
	}
	if keys := Describe(&document{}); keys[0].Type != "text or list" {
		t.Errorf("type %q", keys[0].Type)
	}
}
