package shellquote

import (
	"os/exec"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestShellReadsTheWordsBack(t *testing.T) {
	t.Parallel()
	argv := []string{"plain-word_1.2/3:4=5,6@7%8+9", "", " ", "it's", "''", `a"b\c`, "$HOME `id` $(id)", "*?[x]{y,z}", "~", "!", "a;b&c|d<e>f", "#x", "line\nfeed", "ümläut"}
	out, err := exec.CommandContext(t.Context(), "sh", "-c", `for w in `+Line(argv)+`; do printf '%s\0' "$w"; done`).Output()
	if err != nil {
		t.Fatal(err)
	}
	want := ""
	for _, w := range argv {
		want += w + "\x00"
	}
	if diff := cmp.Diff(want, string(out)); diff != "" {
		t.Error(diff)
	}
}

func TestPlainWordsStayPlain(t *testing.T) {
	t.Parallel()
	for s, want := range map[string]string{"/a/b.yaml": "/a/b.yaml", "name=x": "name=x", "": "''", "a b": "'a b'", "it's": `'it'\''s'`} {
		if got := Word(s); got != want {
			t.Errorf("%q: %s, want %s", s, got, want)
		}
	}
}

// FuzzLine checks with a real shell that any word survives.
func FuzzLine(f *testing.F) {
	for _, w := range []string{"plain", "", "two words", "it's", `a"b`, "$HOME `id` \\", "--flag=a:b,c", "*", "new\nline"} {
		f.Add(w)
	}
	f.Fuzz(func(t *testing.T, word string) {
		if strings.Contains(word, "\x00") {
			return // an argument of a program cannot contain it
		}
		out, err := exec.CommandContext(t.Context(), "sh", "-c", "printf '%s|' "+Line([]string{word, word})).Output()
		if err != nil || string(out) != word+"|"+word+"|" {
			t.Errorf("%q became %q (%v)", word, out, err)
		}
	})
}
