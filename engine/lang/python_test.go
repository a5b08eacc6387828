package lang

import (
	"strings"
	"testing"
)

// TestPythonInExpressions: methods of Python's values and its integer division are errors when
// the expression is compiled, with the form here, in conditions and texts alike; the methods of
// expr's times and // in quotes are none.
func TestPythonInExpressions(t *testing.T) {
	for src, want := range map[string]string{
		"x.split(',')":                    "values have no method split; write x | split(\",\")",
		"s.startswith('a')":               "values have no method startswith; write",
		"d.get('k')":                      "values have no method get",
		"map(list, .name.lower())":        "values have no method lower",
		"7 // 2":                          "// starts a comment; for an integer division write int(A / B)",
		"url == 'http://x' and 7 // 2":    "// starts a comment",
		"url == 'http://x' or `//` == x":  "",
		"'it\\'s // x' == x":              "",
		"date('2026-01-02').Year()":       "",
		"duration('1h').Hours() + len(x)": "",
	} {
		_, condition := CompileExpr(src, Origin{})
		_, text := CompileInterpolation("a {{ "+src+" }}", Origin{})
		for _, err := range []error{condition, text} {
			if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
				t.Errorf("%s: %v, want %s", src, err, want)
			}
		}
	}
}
