package importer

import (
	"math"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestPythonLiteral compares with the answers of Python 3.11's ast.literal_eval, behind
// which Ansible keeps a text that is no literal.
func TestPythonLiteral(t *testing.T) {
	t.Parallel()
	type m = map[string]any
	for text, want := range map[string]any{
		"80": 80, "0123": "0123", "000": 0, "0_0": 0, "0_7": "0_7", "1_000": 1000, "1__0": "1__0", "1_": "1_", "_1": "_1",
		"0x1F": 31, "0xg": "0xg", "0o17": 15, "0b101": 5, "0b12": "0b12", "+3": 3, "-5": -5, "- 5": -5, "--1": "--1", "-(5)": -5, "(5)": 5,
		"1.10": 1.1, "1.": 1.0, ".5": 0.5, "-.5e-3": -0.0005, "1e3": 1000.0, "12e-2": 0.12, "1e": "1e", "1.e5": 100000.0, "0777.5": 777.5,
		"09e1": 90.0, "1_0.5_0": 10.5, "1e400": math.Inf(1), "1.2.3": "1.2.3", "4cpu": "4cpu", "1 2": "1 2", "10-2": "10-2",
		"123456789012345678901": bigInt("123456789012345678901"), "-9223372036854775809": bigInt("-9223372036854775809"),
		"True": true, "False": false, "None": nil, "true": "true", "yes": "yes", "no": "no", "TRUE": "TRUE", "null": "null", "(True)": true, "-True": "-True",
		"a b": "a b", "'80'": "80", `"x"`: "x", "'a' 'b'": "ab", "'a'b": "'a'b", "'a": "'a", "'''it's'''": "it's", "r'\\d'": `\d`, "u'x'": "x", "b'x'": "x",
		"f'x'": "f'x'", "b'x' 'y'": "b'x' 'y'", `'\x41\t\101\u00e5'`: "A\tAå", `'\d'`: `\d`, `'\N{DASH}'`: `'\N{DASH}'`, "'é'": "é", "é": "é",
		"[1, 'a']": []any{1, "a"}, "[1,]": []any{1}, "[]": []any{}, "[ ]": []any{}, "[1 2]": "[1 2]", "[web": "[web", "[[1],(2,)]": []any{[]any{1}, []any{2}},
		"()": []any{}, "(1,)": []any{1}, "1,": []any{1}, "10,20": []any{10, 20}, "02,06": "02,06", "[yes]": "[yes]",
		"{'a': True}": m{"a": true}, `{"y":2}`: m{"y": 2}, "{}": m{}, "{'a':1,'a':2}": m{"a": 2}, "{'a': 1, }": m{"a": 1}, "{'a'": "{'a'", "{[1]: 2}": "{[1]: 2}",
		"5 # five": 5, "True#x": true, "'q' # q": "q", "ops # night": "ops # night", "# x": "# x", "": "", "1,#": []any{1},
	} {
		if diff := cmp.Diff(want, pythonLiteral(text).v); diff != "" {
			t.Errorf("%q: %s", text, diff)
		}
	}
	for _, text := range []string{"{'a', 'b'}", "{1: 'a'}", "{None: 1, 2.5: 2}"} {
		if s := pythonLiteral(text); s.remark == "" {
			t.Errorf("%s became %v without a remark", text, s.v)
		}
	}
	deep := strings.Repeat("[", 100000)
	if got := pythonLiteral(deep).v; got != deep {
		t.Error("an endless list was parsed")
	}
}

// TestSplitWords compares with Python's shlex.split.
func TestSplitWords(t *testing.T) {
	t.Parallel()
	for line, want := range map[string][]string{
		"a x=b#c d=1":       {"a", "x=b"},
		`a "#x" y`:          {"a", "#x", "y"},
		`a x="q\n" z=\#k`:   {"a", `x=q\n`, "z=#k"},
		`a x='' y=''#`:      {"a", "x=", "y="},
		`a x="\"b\\"`:       {"a", `x="b\`},
		`a x='b\c'`:         {"a", `x=b\c`},
		`a x=b\\c`:          {"a", `x=b\c`},
		"a\tb # c 'd":       {"a", "b"},
		`a x="b 'c' d" "" `: {"a", "x=b 'c' d", ""},
	} {
		got, err := splitWords(line, true)
		if diff := cmp.Diff(want, got); err != nil || diff != "" {
			t.Errorf("%q: error %v %s", line, err, diff)
		}
	}
	for _, line := range []string{`a "b`, `a 'b`, `a \`} {
		if got, err := splitWords(line, true); err == nil {
			t.Errorf("%q: %q, want an error", line, got)
		}
	}
}

// TestPlain11 compares with PyYAML's scalars; the corpus of test/compare has more.
func TestPlain11(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]any{
		"yes": true, "Off": false, "y": "y", "nO": "nO", "0644": 420, "0o644": "0o644", "089": "089", "1_000": 1000, "0x1f": 31, "-0b11": -3, "+0": 0,
		"22:22": 1342, "1:30:00": 5400, "-1:30": -90, "1:30.5": 90.5, "1e3": "1e3", "1.0e3": "1.0e3", "1.5e+3": 1500.0, "1.": 1.0, ".5": 0.5, "-.5": "-.5",
		"1_0.5": 10.5, ".inf": math.Inf(1), "-.INF": math.Inf(-1), "~": nil, "": nil, "Null": nil, "nULL": "nULL", "=": "=", "00:11:22:33:44:55": "00:11:22:33:44:55",
		"18446744073709551616": bigInt("18446744073709551616"), "2026-11-27": "2026-11-27", "0_": 0,
	} {
		if diff := cmp.Diff(want, plain11(text).v); diff != "" {
			t.Errorf("%q: %s", text, diff)
		}
	}
	for _, text := range []string{"2026-11-27", "2026-11-27 10:00:00", "2026-11-27T10:00:00.5+01:00"} {
		if plain11(text).remark == "" {
			t.Errorf("%s has no remark", text)
		}
	}
	if got := plain11(".nan").v.(float64); !math.IsNaN(got) {
		t.Errorf(".nan is %v", got)
	}
}
