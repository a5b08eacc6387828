package edit

import (
	"errors"
	"regexp"
	"slices"
	"strings"
)

// splitLines cuts a text into lines without their ends. ended is false for a
// text whose last line has no end.
func splitLines(text string) (lines []string, ended bool) {
	if text == "" {
		return nil, true
	}
	ended = strings.HasSuffix(text, "\n")
	return strings.Split(strings.TrimSuffix(text, "\n"), "\n"), ended
}

// joinLines is the reverse. A last line that had no end gets none, unless it is
// not the last one any more.
func joinLines(lines []string, ended bool) string {
	if len(lines) == 0 {
		return ""
	}
	text := strings.Join(lines, "\n")
	if ended {
		text += "\n"
	}
	return text
}

// insertPosition is where new lines go.
type insertPosition struct {
	after, before *regexp.Regexp
	top           bool // before: BOF
	first         bool // of several lines that match, the first one
}

// newInsertPosition reads insert_after and insert_before: a regular expression, EOF or
// BOF.
func newInsertPosition(after, before string, first bool) (insertPosition, error) {
	if after != "" && before != "" {
		return insertPosition{}, errors.New("insert_after and insert_before exclude each other")
	}
	p := insertPosition{first: first, top: before == "BOF"}
	var err error
	if after != "EOF" {
		if p.after, err = compile("insert_after", after); err != nil {
			return insertPosition{}, err
		}
	}
	if !p.top {
		p.before, err = compile("insert_before", before)
	}
	return p, err
}

// index is where in the lines a new one goes: at the end when nothing matches.
func (p insertPosition) index(lines []string) int {
	switch {
	case p.top:
		return 0
	case p.before != nil:
		if i := match(lines, p.before, p.first); i >= 0 {
			return i
		}
	case p.after != nil:
		if i := match(lines, p.after, p.first); i >= 0 {
			return i + 1
		}
	}
	return len(lines)
}

// insert puts new lines there. ended tells of the text as in splitLines.
func (p insertPosition) insert(lines, more []string, ended bool) ([]string, bool) {
	i := p.index(lines)
	if i == len(lines) {
		ended = true
	}
	return slices.Insert(slices.Clone(lines), i, more...), ended
}

// match is the last line that matches, or the first; -1 when none does.
func match(lines []string, re *regexp.Regexp, first bool) int {
	if first {
		return slices.IndexFunc(lines, re.MatchString)
	}
	for i := len(lines) - 1; i >= 0; i-- {
		if re.MatchString(lines[i]) {
			return i
		}
	}
	return -1
}
