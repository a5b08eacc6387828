package lang

import (
	"fmt"
	"strings"
	"testing"
	"text/template"

	"github.com/google/go-cmp/cmp"

	"deployer/strictyaml"
)

// TestMappingsAreSortedByKey: functions that list the parts of a mapping return them in the
// order of the keys.
func TestMappingsAreSortedByKey(t *testing.T) {
	t.Parallel()
	m := map[string]any{}
	var keys, values, pairs []any
	for i := range 20 {
		k := fmt.Sprintf("k%02d", i)
		m[k] = i
		keys, values, pairs = append(keys, k), append(values, i), append(pairs, []any{k, i})
	}
	for src, want := range map[string][]any{
		"keys(m)": keys, "values(m)": values, "toPairs(m)": pairs, "m | toPairs()": pairs,
		"map(toPairs(m), #[0])": keys, `filter(keys(m), # in keys(m))`: keys,
	} {
		e, err := CompileExpr(src, Origin{Start: strictyaml.Pos{}})
		if err != nil {
			t.Errorf("%s: %v", src, err)
			continue
		}
		got, err := e.Eval(map[string]any{"m": m})
		if diff := cmp.Diff(want, got); err != nil || diff != "" {
			t.Errorf("%s: %v %s", src, err, diff)
		}
	}
	var b strings.Builder
	tmpl := template.Must(template.New("").Funcs(Functions()).Parse("{{ keys .m | join \" \" }}|{{ keys .m (dict \"z\" 1) | len }}|{{ values .m | join \" \" }}"))
	if err := tmpl.Execute(&b, map[string]any{"m": m}); err != nil {
		t.Fatal(err)
	}
	if want := inWords(keys) + "|21|" + inWords(values); b.String() != want {
		t.Errorf("got %s, want %s", b.String(), want)
	}
	e, err := CompileExpr("toPairs(m)", Origin{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := e.Eval(map[string]any{"m": []any{1}}); err == nil || !strings.Contains(err.Error(), "toPairs wants a mapping") {
		t.Errorf("of a list: %v", err)
	}
}

func inWords(list []any) string {
	var words []string
	for _, v := range list {
		words = append(words, fmt.Sprint(v))
	}
	return strings.Join(words, " ")
}
