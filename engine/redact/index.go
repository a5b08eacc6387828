package redact

import (
	"cmp"
	"slices"
)

// gram is four bytes, by which forms are found.
type gram uint32

func gramAt(s string, i int) gram {
	return gram(s[i]) | gram(s[i+1])<<8 | gram(s[i+2])<<16 | gram(s[i+3])<<24
}

// slot is the bit of the gram in a filter.
func (g gram) slot() (word, bit uint32) {
	h := uint32(g) * 2654435761 >> 16 // Knuth's multiplicative hash
	return h >> 6, h & 63
}

// index finds forms by four of their bytes.
type index struct {
	byGram map[gram][]form // the longest first
	// filter has a bit for each gram, so that most places of a text are passed over
	// without a look into the map.
	filter *[1024]uint64
}

func newIndex() index { return index{map[gram][]form{}, &[1024]uint64{}} }

// add adds a form under the four bytes at one of its places.
func (x index) add(f form, place int) {
	g := gramAt(f.text, place)
	word, bit := g.slot()
	x.filter[word] |= 1 << bit
	all := x.byGram[g]
	at, _ := slices.BinarySearchFunc(all, f, func(a, b form) int { return cmp.Compare(len(b.text), len(a.text)) })
	x.byGram[g] = slices.Insert(all, at, f)
}

// at returns the forms that have the four bytes at a place of a text, the longest
// first.
func (x index) at(text string, i int) []form {
	g := gramAt(text, i)
	if word, bit := g.slot(); x.filter[word]&(1<<bit) == 0 {
		return nil
	}
	return x.byGram[g]
}
