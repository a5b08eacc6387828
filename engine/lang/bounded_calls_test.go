package lang

import (
	"runtime"
	"strings"
	"testing"
)

// hostileVars have a text as long as the output of a command at most.
func hostileVars() map[string]any {
	return map[string]any{"text": strings.Repeat("a,\n", 8<<20/3), "small": "x", "long": strings.Repeat("x", 10_000), "words": []any{"a", "b"}}
}

// TestExpressionsAreBounded: a call whose result would take more than 64 MiB is an error that
// says so, before much memory is taken.
func TestExpressionsAreBounded(t *testing.T) {
	vars := hostileVars()
	for _, src := range []string{
		"text | list", "text | map('upper') | list", "text | unique", "text | split('')", "text | split(',')", "text | split", "split(text, ',')", "splitAfter(text, ',')",
		"splitList(',', text)", "text | splitList(',')", "text | replace(',', text)", "replace(text, ',', text)", "text | regex_replace(',', long)",
		`text | regex_replace('(?s)(.*)', '\\1\\1\\1\\1\\1\\1\\1\\1\\1\\1')`, "text | regex_findall('.')", "text | regex_findall('(.)(.)')", "text | indent(1000)", "text | indent(100)",
		"text | comment(decoration='# and some more words ')", "repeat(text, 1000000)", "repeat('x', 1000000) | repeat(1000)", "text | repeat(1000)", "text | nindent(100)", "flatten(reduce(1..60, [#acc, #acc], small))", "reduce(1..60, [#acc, #acc], small) is in [1]",
		"words | join(text + text + text + text + text + text)", "join(1..100, text)", "text + text + text + text + text + text + text + text + text", "reduce(1..60, #acc + #acc, small)",
		"let a = text + text + text; let b = a + a + a; b + b", "reduce(1..60, [#acc, #acc], small) | to_json", "reduce(1..60, [#acc, #acc], small) | to_nice_yaml", "toJSON(reduce(1..60, [#acc, #acc], small))",
		"string(reduce(1..60, [#acc, #acc], small))", "reduce(1..60, [#acc, #acc], small) | flatten | length", "regexFindAll('.', text, -1)", "regexSplit(',', text, -1)",
		"regexReplaceAll('a', text, long)", "until(1000000000)", "untilStep(0, 1000000000, 1)", "seq(0, 1000000000)", "randAlphaNum(1000000000)",
		"list(reduce(1..60, [#acc, #acc], small))", "reduce(1..60, #acc | quote, \"'\")", "reduce(1..60, [#acc, #acc], small) | string",
	} {
		e, err := CompileExpr(src, Origin{})
		if err != nil {
			t.Errorf("%s: %v", src, err)
			continue
		}
		requireBound(t, src, func() error { _, err := e.Eval(vars); return err })
	}
	value, err := CompileInterpolation("{{ reduce(1..60, [#acc, #acc], small) }}", Origin{})
	if err != nil {
		t.Fatal(err)
	}
	requireBound(t, value.Source(), func() error { _, err := value.Value(vars); return err })
}

// TestTemplateFilesAreBounded: likewise for functions, loops and values in template files.
func TestTemplateFilesAreBounded(t *testing.T) {
	vars := hostileVars()
	for _, src := range []string{
		"{{ repeat 1000 text }}", "{{ nindent 100 text }}", `{{ splitList "," text | len }}`, `{{ split "," text | len }}`, `{{ replace "," text text }}`, `{{ printf "%999999d%999999d" 1 1 | repeat 100 }}`,
		`{{ printf (repeat 10000 "%999999d") 1 }}`, "{{ range until 100 }}{{ text }}{{ end }}", "{{ range until 1000000000 }}{{ end }}", `{{ join text (until 100) }}`,
		`{{ $x := list "a" }}{{ range until 60 }}{{ $x = list $x $x }}{{ end }}{{ toYaml $x }}`, `{{ $x := list "a" }}{{ range until 60 }}{{ $x = list $x $x }}{{ end }}{{ $x }}`,
		`{{ $d := dict }}{{ $_ := set $d "self" $d }}{{ toJson $d }}`, `{{ $x := "'" }}{{ range until 60 }}{{ $x = print $x $x }}{{ end }}{{ $x | len }}`,
		`{{ $x := "'" }}{{ range until 60 }}{{ $x = cat $x $x }}{{ end }}{{ $x | len }}`, `{{ regexFindAll "." text -1 | len }}`, `{{ wrapWith 1 text text }}`,
	} {
		tpl, err := compileTemplate(src, fileOrigin("f"), fileFunctions())
		if err != nil {
			t.Errorf("%s: %v", src, err)
			continue
		}
		requireBound(t, src, func() error { _, err := tpl.Text(vars); return err })
	}
}

// requireBound requires an error about the bound, with a heap of less than a GiB, and less than 4 GiB
// allocated in all; the race detector takes reused memory from pools less often.
func requireBound(t *testing.T, src string, eval func() error) {
	t.Helper()
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	err := eval()
	runtime.ReadMemStats(&after)
	bounds := []string{"64 MiB", "want at most", "items", "memory budget", "deeper than"}
	if err == nil || !strings.Contains(err.Error(), bounds[0]) && !strings.Contains(err.Error(), bounds[1]) && !strings.Contains(err.Error(), bounds[2]) &&
		!strings.Contains(err.Error(), bounds[3]) && !strings.Contains(err.Error(), bounds[4]) {
		t.Errorf("%s: error %.200v", src, err)
	}
	if heap, taken := after.HeapSys>>20, (after.TotalAlloc-before.TotalAlloc)>>20; heap > 1024 || taken > 4096 {
		t.Errorf("%s: allocated %d MiB, with a heap of %d MiB", src, taken, heap)
	}
}

// TestBoundsLeaveRoom: texts as commands print them pass.
func TestBoundsLeaveRoom(t *testing.T) {
	vars := map[string]any{"text": strings.Repeat("some words of a line\n", 20_000), "n": 3}
	for src, want := range map[string]any{
		"text | split('\\n') | length": 20_001, "len(split(text, '\\n'))": 20_001, "text | length": 420_000, "text | list | length": 420_000, "len(text + text)": 840_000,
		"text | indent(8) | length": 579_992, "text | replace('words', 'texts of people') | length": 620_000, "len(repeat('ab', 10))": 20, "n + 1": 4, "n + n": 6, "1.5 + n": 4.5,
		"'a' + 'b'": "ab", "text | regex_findall('words') | length": 20_000, "len(join(['a', 'b', 'c'], '-'))": 5, "string(n) + 'x'": "3x", "text | regex_replace('words', 'x') | length": 340_000,
	} {
		e, err := CompileExpr(src, Origin{})
		if err != nil {
			t.Fatalf("%s: %v", src, err)
		}
		if got, err := e.Eval(vars); err != nil || got != want {
			t.Errorf("%s is %v, %v; want %v", src, got, err, want)
		}
	}
}
