package edit

import (
	"errors"
	"regexp"
	"slices"
	"strings"
)

// splitLines splits a text into lines without their ends. ended reports whether the
// last line has an end.
func splitLines(text string) (lines []string, ended bool) {
	if text == "" {
		return nil, true
	}
	ended = strings.HasSuffix(text, "\n")
	return strings.Split(strings.TrimSuffix(text, "\n"), "\n"), ended
}

// joinLines is the inverse of splitLines. A last line without an end stays so,
// unless another line follows it now.
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

// insertPosition is the place of new lines in a file.
type insertPosition struct {
	after, before *regexp.Regexp
	top           bool // before: BOF
	first         bool // use the first line that matches instead of the last
}

// newInsertPosition parses insert_after and insert_before: a regular expression, EOF
// or BOF.
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

// index returns the index for a new line: the end when no line matches.
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

// insert inserts lines. ended is that of splitLines.
func (p insertPosition) insert(lines, more []string, ended bool) ([]string, bool) {
	i := p.index(lines)
	if i == len(lines) {
		ended = true
	}
	return slices.Insert(slices.Clone(lines), i, more...), ended
}

// match returns the index of the last line that matches, or of the first; -1 for
// none.
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
