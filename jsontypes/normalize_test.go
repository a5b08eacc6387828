package jsontypes

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestNormalize(t *testing.T) {
	in := map[string]any{"f": 3.0, "g": 2.5, "l": []any{1e6, map[any]any{1: 2.0}}, "s": "x"}
	want := map[string]any{"f": 3, "g": 2.5, "l": []any{1000000, map[string]any{"1": 2}}, "s": "x"}
	if diff := cmp.Diff(want, Normalize(in)); diff != "" {
		t.Error(diff)
	}
	if in["f"] != 3.0 {
		t.Error("Normalize changed what it was given")
	}
}
