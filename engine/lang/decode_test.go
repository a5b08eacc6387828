package lang

import (
	"fmt"
	"runtime"
	"strings"
	"testing"
)

// decoders are expressions that decode the variable text.
var decoders = map[string][]string{
	"json": {"text | from_json", "fromJson(text)", "fromJSON(text)", "text | fromJson"},
	"yaml": {"text | from_yaml", "fromYaml(text)"},
}

func decode(t *testing.T, src, text string) (any, error) {
	t.Helper()
	e, err := CompileExpr(src, Origin{})
	if err != nil {
		t.Fatal(err)
	}
	return e.Eval(map[string]any{"text": text})
}

// TestDecodersAreBounded: a text of a host that becomes much more than its size, also by
// aliases, is an error that says so, before the memory is taken.
func TestDecodersAreBounded(t *testing.T) {
	fill := func(open, element, end string, size int) string {
		return open + strings.Repeat(element, size/len(element)) + end
	}
	var laughs strings.Builder
	laughs.WriteString("a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n")
	for i := range 20 {
		fmt.Fprintf(&laughs, "a%d: &a%d [%s]\n", i+1, i+1, strings.TrimSuffix(strings.Repeat(fmt.Sprintf("*a%d, ", i), 10), ", "))
	}
	for name, c := range map[string]struct{ form, text, want string }{
		"empty objects":     {"json", fill("[", "{},", "1]", 8<<20), "limit is 64 MiB"},
		"objects":           {"json", fill("[", `{"":0},`, "1]", 4<<20), "limit is 64 MiB"},
		"flow list":         {"yaml", fill("[", "a,", "a]", 8<<20), "limit is 64 MiB"},
		"elements":          {"yaml", fill("", "-\n", "", 8<<20), "limit is 64 MiB"},
		"nested elements":   {"yaml", fill("", "- - - - a\n", "", 4<<20), "limit is 64 MiB"},
		"mappings":          {"yaml", fill("[", "{a: b},", "a]", 4<<20), "limit is 64 MiB"},
		"aliases":           {"yaml", laughs.String(), "with its aliases"},
		"a text many times": {"yaml", "a: &a " + strings.Repeat("x", 1<<20) + "\n" + fill("b: [", "*a,", "*a]", 30<<10), "with its aliases"},
		"a circle":          {"yaml", "&a [*a]\n", "contains it"},
	} {
		for _, src := range decoders[c.form] {
			if _, err := decode(t, src, c.text); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%s: %s: error %.200v", name, src, err)
			}
		}
	}
}

// TestDecodedMemory: what passes the bound takes at most four times the bound while it is
// decoded.
func TestDecodedMemory(t *testing.T) {
	for name, c := range map[string]struct{ form, open, element, end string }{
		"flow list":       {"yaml", "[", "a,", "a]"},
		"flow mapping":    {"yaml", "[", "{a: b},", "a]"},
		"elements":        {"yaml", "", "-\n", ""},
		"nested elements": {"yaml", "", "- - - - a\n", ""},
		"mapping":         {"yaml", "- ", "a: b\n- ", "a: b\n"},
		"complex keys":    {"yaml", "[", "? a : b,", "a]"},
		"empty lists":     {"yaml", "[", "[],", "[]]"},
		"aliases":         {"yaml", "a: &a {a: b}\nb: [", "*a,", "*a]"},
		"objects":         {"json", "[", `{"":0},`, "1]"},
		"empty objects":   {"json", "[", "{},", "1]"},
	} {
		src := decoders[c.form][0]
		n := 1 << 10
		for _, err := decode(t, src, c.open+strings.Repeat(c.element, 2*n)+c.end); err == nil; _, err = decode(t, src, c.open+strings.Repeat(c.element, 2*n)+c.end) {
			n *= 2
		}
		text := c.open + strings.Repeat(c.element, n) + c.end
		var before, after runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&before)
		v, err := decode(t, src, text)
		runtime.ReadMemStats(&after)
		if err != nil || v == nil {
			t.Fatalf("%s: %d elements: %v", name, n, err)
		}
		took := (after.TotalAlloc - before.TotalAlloc) >> 20
		t.Logf("%s: %d KiB took %d MiB in all", name, len(text)>>10, took)
		if took > 256 {
			t.Errorf("%s: %d KiB took %d MiB", name, len(text)>>10, took)
		}
	}
}

// TestHonestTextsAreDecoded: the output of usual commands is far below the bounds.
func TestHonestTextsAreDecoded(t *testing.T) {
	var objects, lines []string
	for i := range 5000 {
		objects = append(objects, fmt.Sprintf(`{"metadata":{"name":"pod-%d","labels":{"app":"web","tier":"front"}},"status":{"phase":"Running"}}`, i))
	}
	for i := range 10000 {
		lines = append(lines, fmt.Sprintf("- name: pod-%d\n  labels: &l%d {app: web}\n  more: *l%[2]d\n", i, i))
	}
	for form, text := range map[string]string{"json": "[" + strings.Join(objects, ",") + "]", "yaml": strings.Join(lines, "")} {
		for _, src := range decoders[form] {
			v, err := decode(t, src, text)
			if list, ok := v.([]any); err != nil || !ok || len(list) < 5000 {
				t.Errorf("%s: %v", src, err)
			}
		}
	}
	for text, want := range map[string]any{"": nil, "a: 1": map[string]any{"a": 1}, "x: &x {a: 1}\ny: {<<: *x, b: 2}": map[string]any{"x": map[string]any{"a": 1}, "y": map[string]any{"a": 1, "b": 2}}} {
		if v, err := decode(t, "text | from_yaml", text); err != nil || fmt.Sprint(v) != fmt.Sprint(want) {
			t.Errorf("%q: %v, error %v", text, v, err)
		}
	}
}
