package main

import (
	"path/filepath"
	"strings"
	"testing"
)

// TestAnswers compares deployer with ansible-core's stored answers: no case may differ in
// silence.
func TestAnswers(t *testing.T) {
	t.Parallel()
	for _, k := range kinds() {
		dirs, err := k.Cases(".")
		if err != nil {
			t.Fatal(err)
		}
		for _, dir := range dirs {
			t.Run(k.Name+"/"+filepath.Base(dir), func(t *testing.T) {
				t.Parallel()
				v, own, err := compareCase(t.Context(), k, dir)
				if err != nil {
					t.Fatal(err)
				}
				if len(v.Silent) > 0 {
					t.Errorf("differs in silence:\n%s\nnotes:\n%s", strings.Join(v.Silent, "\n"), strings.Join(own.Notes, "\n"))
				}
			})
		}
	}
}

// TestJudge: a value is equal only with its type, and a difference is silent unless a
// note names it.
func TestJudge(t *testing.T) {
	t.Parallel()
	theirs, err := decodeAnswer([]byte(`{"a": 1, "b": 1.0, "c": "1", "d": [true, null], "e": {"x": 10.50}, "f": 1}`))
	if err != nil {
		t.Fatal(err)
	}
	ours := Answer{"a": int64(1), "b": 1.0, "c": "1", "d": []any{true, nil}, "e": map[any]any{"x": 10.5}, "f": 1}
	if v := Judge(theirs, Own{Answer: ours}); !v.Equal() {
		t.Errorf("differs: %v", v.Silent)
	}
	ours = Answer{"a": 1.0, "b": 1, "c": 1, "d": []any{true}, "e": map[string]any{"x": "10.5"}, "g": 1}
	v := Judge(theirs, Own{Answer: ours, Listed: func(key string, _, _ any) bool { return key == "a" || key == "g" }})
	if len(v.Listed) != 2 || len(v.Silent) != 5 {
		t.Errorf("listed %v\nsilent %v", v.Listed, v.Silent)
	}
}
