package journal

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestWithhold(t *testing.T) {
	extra := map[string]any{
		"release": "1.10", "db_password": "x", "API_KEY": "y", "key_file": "/a", "port": 80,
		"note":  "the hunter2 is in here",
		"deep":  map[string]any{"user": "u", "token": "t"},
		"list":  []any{"a", map[string]any{"b": "hunter2"}},
		"plain": map[string]any{"a": []any{1, "b"}},
	}
	open, withheld := SplitSecrets(extra, func(s string) string { return strings.ReplaceAll(s, "hunter2", "***") })
	if diff := cmp.Diff([]string{"API_KEY", "db_password", "deep", "list", "note"}, withheld); diff != "" {
		t.Error(diff)
	}
	want := map[string]any{"release": "1.10", "key_file": "/a", "port": 80, "plain": map[string]any{"a": []any{1, "b"}}}
	if diff := cmp.Diff(want, open); diff != "" {
		t.Error(diff)
	}
}

func TestSame(t *testing.T) {
	a := Invocation{Verb: "run", Playbook: "/a.yaml", Inventory: "/i.yaml", Limit: "web"}
	for want, b := range map[bool]Invocation{
		true:  {Verb: "run", Playbook: "/a.yaml", Inventory: "/i.yaml"},
		false: {Verb: "run", Playbook: "/b.yaml", Inventory: "/i.yaml", Limit: "web"},
	} {
		if a.Same(b) != want {
			t.Errorf("%+v: %v", b, !want)
		}
	}
}
