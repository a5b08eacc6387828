package sanitize

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
)

func TestText(t *testing.T) {
	for in, want := range map[string]string{
		"plain text\nwith\ttabs":        "plain text\nwith\ttabs",
		"größer als 中文":                 "größer als 中文",
		"\x1b[31mred\x1b[0m":            "red",
		"\x1b[2J\x1b[1;1Hgone":          "gone",
		"\x1b]0;title\x07text":          "text",
		"\x1b]8;;http://x\x1b\\link":    "link",
		"\x1bPdevice\x1b\\text":         "text",
		"\x1b]0;unfinished\nnext line":  "\nnext line",
		"\x1b[31\nstill here":           "\nstill here",
		"\x1b":                          "",
		"\x1b[":                         "",
		"\x1bcreset":                    "reset",
		"\x1bü":                         "ü",
		"\u009b31mred":                  "red",
		"a\rb\x00c\x7fd\x08e":           "abcde",
		"user\u202etxt.exe\u2066\u200f": "usertxt.exe",
		"bad \xff\xfe bytes":            "bad \ufffd\ufffd bytes",
		"\u0085next":                    "next",
		"":                              "",
	} {
		if got := Text(in); got != want {
			t.Errorf("Text(%q) = %q, want %q", in, got, want)
		}
	}
}

// FuzzClean: the result for any text is UTF-8 without control characters, and
// sanitizing it again does not change it.
func FuzzClean(f *testing.F) {
	f.Add("\x1b[31mred\x1b]0;t\x07\u202e\xff")
	f.Add("\x1b\x1b[[\u009b\u009d\x07")
	f.Fuzz(func(t *testing.T, in string) {
		out := Text(in)
		if !utf8.ValidString(out) {
			t.Fatalf("%q is no UTF-8", out)
		}
		if i := strings.IndexFunc(out, func(r rune) bool { return r != '\n' && r != '\t' && isControl(r) }); i >= 0 {
			t.Fatalf("%q has a control character at %d", out, i)
		}
		if again := Text(out); again != out {
			t.Fatalf("cleaned twice, %q became %q", out, again)
		}
	})
}

func TestLine(t *testing.T) {
	for in, want := range map[string]string{
		"one line":           "one line",
		"a\nROW\tB\u2028c":   "a ROW B c",
		"a\x1b[2J\r\nb\x00":  "a b",
		"größer\n\u202eals ": "größer als ",
	} {
		if got := Line(in); got != want {
			t.Errorf("Line(%q) = %q, want %q", in, got, want)
		}
	}
}

// TestLines checks that only the selected members keep line ends, at every depth, and that no
// escape sequence stays in them.
func TestLines(t *testing.T) {
	in := map[string]any{"name": "a\nb", "k\ney": []any{"c\td"}, "in": map[string]any{"message": "e\nf\x1b[2J", "list": []any{"g\nh"}}, "n": 7.0}
	want := map[string]any{"name": "a b", "k ey": []any{"c d"}, "in": map[string]any{"message": "e\nf", "list": []any{"g h"}}, "n": 7.0}
	if diff := cmp.Diff(want, Lines(in, func(key string) bool { return key == "message" })); diff != "" {
		t.Error(diff)
	}
}
