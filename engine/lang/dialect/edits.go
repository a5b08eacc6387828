package dialect

import (
	"cmp"
	"slices"
	"strings"
)

// edit replaces del runes at a place of a source.
type edit struct {
	at, del int
	text    string
}

// apply executes the edits. The second result maps each rune of the new source, and its
// end, to the rune of the old source that it comes from.
func apply(src []rune, edits []edit) (out []rune, from []int) {
	slices.SortStableFunc(edits, func(a, b edit) int { return cmp.Compare(a.at, b.at) })
	at := 0
	keep := func(to int) {
		for ; at < to; at++ {
			out, from = append(out, src[at]), append(from, at)
		}
	}
	for _, e := range edits {
		keep(e.at)
		for _, r := range e.text {
			out, from = append(out, r), append(from, min(e.at, max(len(src)-1, 0)))
		}
		at = max(at, e.at+e.del)
	}
	keep(len(src))
	return out, append(from, len(src))
}

// Source is an expression as the parser of expr reads it.
type Source struct {
	Text string
	from [][]int // maps of apply, the last one first; none when nothing was changed
}

// Origin returns the place, in runes, of a rune of Text in the expression as written.
func (s Source) Origin(at int) int {
	for _, m := range s.from {
		at = m[min(max(at, 0), len(m)-1)]
	}
	return at
}

func (s Source) then(edits []edit) Source {
	if len(edits) == 0 {
		return s
	}
	out, from := apply([]rune(s.Text), edits)
	return Source{Text: string(out), from: slices.Insert(slices.Clone(s.from), 0, from)}
}

// escapes gives backslashes in quotes the meaning that they have in Ansible: a backslash
// that escapes nothing stands for itself, as in '\d+', and \' is the quote in any text.
func escapes(src string) []edit {
	if !strings.Contains(src, `\`) {
		return nil
	}
	var edits []edit
	rs := []rune(src)
	for i := 0; i < len(rs); i++ {
		quote := rs[i]
		if quote == '`' {
			for i++; i < len(rs) && rs[i] != '`'; i++ {
			}
			continue
		}
		if quote != '\'' && quote != '"' {
			continue
		}
		for i++; i < len(rs) && rs[i] != quote; i++ {
			if rs[i] != '\\' || i+1 >= len(rs) {
				continue
			}
			switch next := rs[i+1]; {
			case next != quote && (next == '\'' || next == '"'):
				edits = append(edits, edit{at: i, del: 1})
			case next != quote && !strings.ContainsRune(`abfnrtv\xuU`, next) && !octal(rs[i+1:]):
				edits = append(edits, edit{at: i, text: `\`})
			}
			i++
		}
	}
	return edits
}

func octal(rs []rune) bool {
	if len(rs) < 3 {
		return false
	}
	return !slices.ContainsFunc(rs[:3], func(r rune) bool { return r < '0' || r > '7' })
}
