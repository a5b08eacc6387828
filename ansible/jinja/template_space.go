package jinja

import (
	"slices"
	"strings"
)

// tag is a statement or comment of a template file.
type tag struct {
	start, end int
	own        bool // it has a line of its own, under one that ends with a visible character
	block      int  // the number of the block that it begins, ends or divides
}

// ownLines returns the offsets of the statements and comments that may drop the line feed
// before them (`{{-`) instead of the one behind them, which Ansible drops: that is easier to
// read. All statements of a block must allow it, or none does.
func ownLines(src string) map[int]bool {
	tags := scanTags(src)
	excluded := map[int]bool{}
	for changed := true; changed; {
		changed = false
		for i, t := range tags {
			free := t.own && !(i > 0 && tags[i-1].end == t.start-1 && excluded[tags[i-1].block])
			if !free && !excluded[t.block] {
				excluded[t.block], changed = true, true
			}
		}
	}
	out := map[int]bool{}
	for _, t := range tags {
		if !excluded[t.block] {
			out[t.start] = true
		}
	}
	return out
}

// scanTags returns the statements and comments in their order.
func scanTags(src string) []tag {
	var tags []tag
	var open []int
	raw := false
	for n, m := range part.FindAllStringSubmatchIndex(src, -1) {
		whole := src[m[0]:m[1]]
		if strings.HasPrefix(whole, "{{") {
			continue
		}
		t := tag{start: m[0], end: m[1], block: n, own: hasOwnLine(src, m[0], m[1])}
		var word string
		if m[10] >= 0 {
			word, _, _ = strings.Cut(strings.TrimSpace(src[m[10]:m[11]]), " ")
		}
		if raw && word != "endraw" {
			continue
		}
		switch word {
		case "raw", "endraw", "include":
			raw, t.own = word == "raw", false // their text is not empty
		case "if", "for":
			open = append(open, n)
		case "elif", "else", "endif", "endfor":
			if len(open) > 0 {
				t.block = open[len(open)-1]
			}
			if strings.HasPrefix(word, "end") && len(open) > 0 {
				open = slices.Delete(open, len(open)-1, len(open))
			}
		}
		tags = append(tags, t)
	}
	return tags
}

// hasOwnLine reports whether a part stands alone in its line, without signs for white space,
// and the line above it ends with a visible character.
func hasOwnLine(src string, start, end int) bool {
	whole := src[start:end]
	if strings.ContainsAny(whole[2:3]+whole[len(whole)-3:len(whole)-2], "+-") || !strings.HasPrefix(src[end:], "\n") {
		return false
	}
	above, ok := strings.CutSuffix(src[:start], "\n")
	return ok && above != "" && !strings.ContainsAny(above[len(above)-1:], " \t\n") &&
		!strings.HasSuffix(above, "-}}") && !strings.HasSuffix(above, "-%}") && !strings.HasSuffix(above, "-#}")
}
