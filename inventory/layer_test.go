package inventory

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/google/go-cmp/cmp"
	"gopkg.in/yaml.v3"

	"deployer/strictyaml"
)

// free returns a random mapping whose keys have, at every place, always the same kind
// of value: keys d* hold mappings, others do not.
func free(r *rand.Rand, depth int) map[string]any {
	out := map[string]any{}
	for range r.IntN(5) {
		switch k := r.IntN(3); {
		case k == 0 && depth > 0:
			out[fmt.Sprintf("d%d", r.IntN(2))] = free(r, depth-1)
		case k == 1:
			out[fmt.Sprintf("l%d", r.IntN(2))] = []any{r.IntN(9)}
		default:
			out[fmt.Sprintf("v%d", r.IntN(3))] = r.IntN(9)
		}
	}
	return out
}

func node(t *testing.T, v any) *yaml.Node {
	t.Helper()
	var n yaml.Node
	if err := n.Encode(v); err != nil {
		t.Fatal(err)
	}
	return &n
}

func value(t *testing.T, n *yaml.Node) map[string]any {
	t.Helper()
	out := map[string]any{}
	if err := strictyaml.Decode("f", n, &out); err != nil {
		t.Fatal(err)
	}
	return out
}

// TestMergeIsAssociativeAndIdempotent: where values keep their kind, the grouping of
// merges has no effect, and merging a mapping into itself changes nothing.
func TestMergeIsAssociativeAndIdempotent(t *testing.T) {
	for name, merge := range map[string]func([]*yaml.Node) *yaml.Node{"deep": deep, "shallow": shallow} {
		for seed := range uint64(1000) {
			r := rand.New(rand.NewPCG(seed, 2))
			a, b, c := node(t, free(r, 3)), node(t, free(r, 3)), node(t, free(r, 3))
			two := func(x, y *yaml.Node) *yaml.Node { return merge([]*yaml.Node{x, y}) }
			left, right, all := two(two(a, b), c), two(a, two(b, c)), merge([]*yaml.Node{a, nil, b, c})
			if diff := cmp.Diff(value(t, left), value(t, right)); diff != "" {
				t.Fatalf("%s, seed %d: %s", name, seed, diff)
			}
			if diff := cmp.Diff(value(t, left), value(t, all)); diff != "" {
				t.Fatalf("%s, seed %d, at once: %s", name, seed, diff)
			}
			if diff := cmp.Diff(value(t, a), value(t, two(a, a))); diff != "" {
				t.Fatalf("%s, seed %d, with itself: %s", name, seed, diff)
			}
		}
	}
}

func TestDeepReplacesOtherKinds(t *testing.T) {
	lower := node(t, map[string]any{"a": map[string]any{"x": 1}, "b": []any{1, 2}, "c": 1})
	upper := node(t, map[string]any{"a": 2, "b": []any{3}, "c": nil})
	want := map[string]any{"a": 2, "b": []any{3}, "c": nil}
	if diff := cmp.Diff(want, value(t, deep([]*yaml.Node{lower, upper}))); diff != "" {
		t.Error(diff)
	}
}
