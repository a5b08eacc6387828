package hostcmd

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"deployer/strictyaml"
)

func TestWordsDecodeFromTextAndList(t *testing.T) {
	t.Parallel()
	type args struct {
		Cmd Words `yaml:"cmd"`
	}
	for text, want := range map[string]Words{
		`cmd: nginx -t -c "%s"`:       {"nginx", "-t", "-c", "%s"},
		`cmd: [sleep, 1.50, "a b"]`:   {"sleep", "1.50", "a b"},
		`cmd: {a: b}`:                 nil,
		`cmd: [a, [b]]`:               nil,
		`cmd: "an open ' quote"`:      nil,
		"cmd: >-\n  a\n  'b\n   c'\n": {"a", "b\n c"},
	} {
		node, err := strictyaml.Parse("x.yaml", []byte(text))
		if err != nil {
			t.Fatal(err)
		}
		var got args
		err = strictyaml.Decode("x.yaml", node, &got)
		if (err != nil) != (want == nil) {
			t.Errorf("%s: %v", text, err)
		}
		if diff := cmp.Diff(want, got.Cmd); want != nil && diff != "" {
			t.Errorf("%s: %s", text, diff)
		}
	}
}
