package edit

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// editor is the common interface of the three modules.
type editor interface{ edited() (edited, error) }

func TestEditedText(t *testing.T) {
	t.Parallel()
	const conf = "a=1\n#b=2\nb=3\nc=4\n"
	tests := map[string]struct {
		module editor
		before string
		after  string
	}{
		"line is there":                  {&Line{Line: "a=1"}, conf, conf},
		"line at the end":                {&Line{Line: "d=5"}, conf, conf + "d=5\n"},
		"line in an empty file":          {&Line{Line: "d"}, "", "d\n"},
		"line after one without end":     {&Line{Line: "d"}, "a", "a\nd\n"},
		"line before one without end":    {&Line{Line: "d", InsertBefore: "BOF"}, "a", "d\na"},
		"line replaces":                  {&Line{Line: "c=5", Regexp: "^c="}, conf, "a=1\n#b=2\nb=3\nc=5\n"},
		"line replaces without end":      {&Line{Line: "c=5", Regexp: "^c="}, "c=4", "c=5"},
		"last match":                     {&Line{Line: "b=9", Regexp: "^#?b="}, conf, "a=1\n#b=2\nb=9\nc=4\n"},
		"first match":                    {&Line{Line: "b=9", Regexp: "^#?b=", FirstMatch: true}, conf, "a=1\nb=9\nb=3\nc=4\n"},
		"no match, but there":            {&Line{Line: "a=1", Regexp: "^z="}, conf, conf},
		"no match, new":                  {&Line{Line: "z=1", Regexp: "^z="}, conf, conf + "z=1\n"},
		"after":                          {&Line{Line: "x", InsertAfter: "^a"}, conf, "a=1\nx\n#b=2\nb=3\nc=4\n"},
		"after EOF":                      {&Line{Line: "x", InsertAfter: "EOF"}, conf, conf + "x\n"},
		"after a pattern without match":  {&Line{Line: "x", InsertAfter: "^none"}, conf, conf + "x\n"},
		"before":                         {&Line{Line: "x", InsertBefore: "b="}, conf, "a=1\n#b=2\nx\nb=3\nc=4\n"},
		"before the first":               {&Line{Line: "x", InsertBefore: "b=", FirstMatch: true}, conf, "a=1\nx\n#b=2\nb=3\nc=4\n"},
		"before a pattern without match": {&Line{Line: "x", InsertBefore: "^none"}, conf, conf + "x\n"},
		"groups":                         {&Line{Line: "${1}5 # $$", Regexp: "^(c=)\\d+$", Backrefs: true}, conf, "a=1\n#b=2\nb=3\nc=5 # $\n"},
		"groups, no match":               {&Line{Line: "${1}5", Regexp: "^(z=)", Backrefs: true}, conf, conf},
		"dollar without groups":          {&Line{Line: "$1", Regexp: "^c="}, conf, "a=1\n#b=2\nb=3\n$1\n"},
		"absent line":                    {&Line{Line: "b=3", State: "absent"}, conf, "a=1\n#b=2\nc=4\n"},
		"absent, all matching lines":     {&Line{Regexp: "b=", State: "absent"}, conf, "a=1\nc=4\n"},
		"absent, all equal lines":        {&Line{Regexp: "", Line: "a", State: "absent"}, "a\na\n", ""},
		"absent, no match":               {&Line{Line: "z", State: "absent"}, conf, conf},

		"block":                             {&TextBlock{Block: "x\ny\n"}, "a\n", "a\n# BEGIN managed by deployer\nx\ny\n# END managed by deployer\n"},
		"block without end":                 {&TextBlock{Block: "x", Marker: "{mark}"}, "a", "a\nBEGIN\nx\nEND\n"},
		"block at the top":                  {&TextBlock{Block: "x", Marker: "{mark}", InsertBefore: "BOF"}, "a\n", "BEGIN\nx\nEND\na\n"},
		"block after":                       {&TextBlock{Block: "x", Marker: "{mark}", InsertAfter: "a"}, "a\nb\n", "a\nBEGIN\nx\nEND\nb\n"},
		"block changes, stays":              {&TextBlock{Block: "y\nz", Marker: "{mark}"}, "BEGIN\nx\nEND\nb\n", "BEGIN\ny\nz\nEND\nb\n"},
		"absent block":                      {&TextBlock{State: "absent", Block: "x", Marker: "{mark}"}, "a\nBEGIN\nx\nEND\nb", "a\nb"},
		"empty block":                       {&TextBlock{Marker: "{mark}"}, "BEGIN\nEND\n", ""},
		"empty block, no block in the file": {&TextBlock{Marker: "{mark}"}, "a\n", "a\n"},
		"block of an empty line":            {&TextBlock{Block: "\n", Marker: "{mark}"}, "", "BEGIN\n\nEND\n"},
		"block keeps its own gaps":          {&TextBlock{Block: "x\n\ny\n", Marker: "{mark}"}, "", "BEGIN\nx\n\ny\nEND\n"},

		"DOS line":                              {&Line{Line: "a=2", Regexp: "^a=1$"}, "a=1\r\nb=1\r\n", "a=2\r\nb=1\r\n"},
		"DOS new line":                          {&Line{Line: "c=1"}, "a=1\r\nb=1\r\n", "a=1\r\nb=1\r\nc=1\r\n"},
		"DOS line is there":                     {&Line{Line: "b=1"}, "a=1\r\nb=1\r\n", "a=1\r\nb=1\r\n"},
		"mixed line ends":                       {&Line{Line: "c=1"}, "a=1\r\nb=1\n", "a=1\r\nb=1\nc=1\n"},
		"DOS block":                             {&TextBlock{Block: "x\ny", Marker: "{mark}"}, "a\r\n", "a\r\nBEGIN\r\nx\r\ny\r\nEND\r\n"},
		"DOS replace":                           {&Replace{Regexp: "^a=.$", Replacement: "z"}, "a=1\r\nb=1\r\n", "z\r\nb=1\r\n"},
		"replace DOS line ends":                 {&Replace{Regexp: `\r$`, Replacement: ""}, "a=1\r\nb=1\r\n", "a=1\nb=1\n"},
		"replace":                               {&Replace{Regexp: `(\w)=(\d)`, Replacement: "${2}:${1}"}, conf, "1:a\n#2:b\n3:b\n4:c\n"},
		"replace at lines":                      {&Replace{Regexp: "^#", Replacement: ""}, conf, "a=1\nb=2\nb=3\nc=4\n"},
		"replace over lines":                    {&Replace{Regexp: `(?s)a=1.*b=3\n`}, conf, "c=4\n"},
		"replace after":                         {&Replace{Regexp: "=", Replacement: ":", After: "^b"}, conf, "a=1\n#b=2\nb:3\nc:4\n"},
		"replace before":                        {&Replace{Regexp: "=", Replacement: ":", Before: "^b"}, conf, "a:1\n#b:2\nb=3\nc=4\n"},
		"replace between":                       {&Replace{Regexp: "=", Replacement: ":", After: "^#b", Before: "^c"}, conf, "a=1\n#b:2\nb:3\nc=4\n"},
		"replace after a pattern without match": {&Replace{Regexp: "=", Replacement: ":", After: "none"}, conf, conf},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			e, err := tt.module.edited()
			if err != nil {
				t.Fatal(err)
			}
			got, err := e.change(tt.before)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.after, got); diff != "" {
				t.Error(diff)
			}
			if again, err := e.change(got); err != nil || again != got {
				t.Errorf("the second time %q, %v", again, err)
			}
		})
	}
}

func TestArgumentErrors(t *testing.T) {
	t.Parallel()
	for want, m := range map[string]editor{
		"line is missing":             &Line{},
		"use block":                   &Line{Line: "a\nb"},
		"want line or regexp":         &Line{State: "absent"},
		"want present or absent":      &Line{Line: "a", State: "gone"},
		"backrefs needs regexp":       &Line{Line: "a", Backrefs: true},
		"look-around":                 &Line{Line: "a", Regexp: "(?!x)"},
		"insert_after: error parsing": &Line{Line: "a", InsertAfter: "("},
		"exclude each other":          &TextBlock{Block: "a", InsertAfter: "a", InsertBefore: "b"},
		"want one line with {mark}":   &TextBlock{Block: "a", Marker: "# mine"},
		"contains its own marker":     &TextBlock{Block: "x\nEND", Marker: "{mark}"},
		"before: error parsing":       &Replace{Regexp: "a", Before: "["},
		"regexp is missing":           &Replace{},
		"nothing to replace":          &Replace{Regexp: "a", Options: Options{Create: true}},
	} {
		if _, err := m.edited(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want %q", err, want)
		}
	}
}

// FuzzBlock inserts a block into any text, changes it and removes it; the result must
// be the original text.
func FuzzBlock(f *testing.F) {
	f.Add("a\nb\n", "x\ny", "z")
	f.Add("a", "", "\n")
	f.Fuzz(func(t *testing.T, text, one, two string) {
		m := markers{begin: "<<<", end: ">>>"}
		if strings.Contains(text+one+two, "<<<") || strings.Contains(text+one+two, ">>>") {
			return
		}
		put := func(text, block string) string {
			lines, _ := splitLines(block)
			out, err := m.put(text, lines, insertPosition{})
			if err != nil {
				t.Fatal(err)
			}
			return out
		}
		first, second := put(put(text, one), two), put(text, two)
		if one != "" && two != "" && first != second {
			t.Errorf("%q then %q makes %q, %q alone %q", one, two, first, two, second)
		}
		want := text
		if one != "" && text != "" && !strings.HasSuffix(text, "\n") {
			want += "\n"
		}
		if got := put(put(text, one), ""); got != want {
			t.Errorf("taken away again, %q is %q", text, got)
		}
	})
}
