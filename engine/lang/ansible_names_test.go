package lang

import (
	"reflect"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestAnsibleAdviceIsValid checks that expressions in the advice compile and evaluate.
func TestAnsibleAdviceIsValid(t *testing.T) {
	vars := map[string]any{
		"d": map[string]any{"a": 1}, "users": []any{map[string]any{"keys": []any{"x", "y"}}, map[string]any{"keys": []any{"z"}}},
		"r": map[string]any{"stdout": "a\nb", "failed": false}, "facts": map[string]any{"os": "debian"},
	}
	for src, want := range map[string]any{
		"toPairs(d)":                        []any{[]any{"a", 1}},
		"flatten(map(users, .keys))":        []any{"x", "y", "z"},
		"1..3":                              []int{1, 2, 3},
		`versionCompare("1.10", "1.9") > 0`: true,
		`map(toPairs(d), ({key: #[0], value: #[1]}))`: []any{map[string]any{"key": "a", "value": 1}},
		`r?.nothing == nil`:                           true,
		`split(r.stdout, "\n")`:                       []string{"a", "b"},
		`"nothing" in $env`:                           false,
		`nothing ?? 7`:                                7,
		`not r.failed`:                                true,
		`r.stdout contains "b"`:                       true,
		`r.stdout matches "^a"`:                       true,
		`len(users)`:                                  2,
	} {
		e, err := CompileExpr(src, Origin{})
		if err != nil {
			t.Errorf("%s: %v", src, err)
			continue
		}
		got, err := e.Eval(vars)
		if err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("%s: %v, %s", src, err, cmp.Diff(want, got))
		}
	}
	for name, ours := range ansibleNames {
		if name == "" || ours == "" || strings.HasPrefix(ours, "deployer") {
			t.Errorf("%s: %s", name, ours)
		}
	}
	for src, want := range map[string]string{
		`ansible_facts["os_family"] == "Debian"`: `unknown name "ansible_facts"; deployer calls it facts: facts.os`,
		`1 in r.stdout`:                          `a text contains only texts, not the number 1`,
		`x == True`:                              `unknown name "x"`,
		`r.failed == True`:                       `unknown name "True"; deployer calls it true`,
	} {
		e, err := CompileExpr(src, Origin{})
		if err == nil {
			_, err = e.Eval(vars)
		}
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %s", src, err, want)
		}
	}
}
