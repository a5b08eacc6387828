package shellquote

import (
	"os/exec"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestSplitReturnsTheWordsOfAShell(t *testing.T) {
	t.Parallel()
	for _, line := range []string{
		`a b  c`, `a 'b  c' "d e"`, `a''b "" ''`, `it\'s`, `"a\"b\\c\d"`, `'a\b'`, "a\tb", `a\ b`, `pre"mid"post`, "a \\\n b", "\"a\\\nb\"", `"$" \$`,
	} {
		got, err := Split(line)
		if err != nil {
			t.Errorf("%s: %v", line, err)
		}
		shell, err := exec.CommandContext(t.Context(), "sh", "-c", `printf '%s\n' `+line).Output()
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(string(shell), strings.Join(got, "\n")+"\n"); diff != "" {
			t.Errorf("%s: %s", line, diff)
		}
	}
	for _, line := range []string{`'a`, `"a`, `a\`} {
		if words, err := Split(line); err == nil {
			t.Errorf("%s is split into %q", line, words)
		}
	}
}

func FuzzSplitReversesLine(f *testing.F) {
	f.Add("a b", "it's", "")
	f.Fuzz(func(t *testing.T, a, b, c string) {
		want := []string{a, b, c}
		got, err := Split(Line(want))
		if err != nil {
			t.Fatalf("%q: %v", want, err)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Error(diff)
		}
	})
}
