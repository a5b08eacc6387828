package hostcmd

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"deployer/strictyaml"
	"deployer/tasks/tasktest"
)

// TestSplitWordsAsAShellDoes compares the words with those of the shell on the machine
// of the test.
func TestSplitWordsAsAShellDoes(t *testing.T) {
	t.Parallel()
	sys := tasktest.New(t)
	sys.Exec = tasktest.RealExec
	for _, line := range []string{
		`a b  c`, `a 'b  c' "d e"`, `a''b "" ''`, `it\'s`, `"a\"b\\c\d"`, `'a\b'`, "a\tb", `a\ b`, `pre"mid"post`, "a \\\n b", "\"a\\\nb\"", `"$" \$`,
	} {
		got, err := Split(line)
		if err != nil {
			t.Errorf("%s: %v", line, err)
		}
		shell, err := Run(t.Context(), sys, "sh", "-c", `printf '%s\n' `+line)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(shell, strings.Join(got, "\n")+"\n"); diff != "" {
			t.Errorf("%s: %s", line, diff)
		}
	}
	for _, line := range []string{`'a`, `"a`, `a\`} {
		if words, err := Split(line); err == nil {
			t.Errorf("%s is split into %q", line, words)
		}
	}
}

func FuzzSplitReversesQuote(f *testing.F) {
	f.Add("a b", "it's", "")
	f.Fuzz(func(t *testing.T, a, b, c string) {
		want := []string{a, b, c}
		line := Quote(want)
		if strings.HasSuffix(line, "...") { // cut for people
			return
		}
		got, err := Split(line)
		if err != nil {
			t.Fatalf("%s: %v", line, err)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Error(diff)
		}
	})
}

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
