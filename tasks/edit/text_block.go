package edit

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"deployer/engine"
)

// TextBlock manages a block of lines between two markers in a file.
type TextBlock struct {
	Path         string `yaml:"path" rule:"path" required:"true" doc:"absolute path on the host"`
	Block        string `yaml:"block" rule:"text" doc:"the lines of the block; empty removes the block and its markers"`
	Marker       string `yaml:"marker" rule:"marker" doc:"marker line before and after the block, with {mark} in place of BEGIN and END; each block of a file needs its own marker. Default \"# {mark} managed by deployer\""`
	State        string `yaml:"state" rule:"in:present,absent" doc:"present or absent; default present"`
	InsertAfter  string `yaml:"insert_after" rule:"position" doc:"regular expression (Go's syntax); a new block is inserted after the last line that matches, or at the end of the file for EOF or without a match; default EOF"`
	InsertBefore string `yaml:"insert_before" rule:"position" doc:"regular expression; a new block is inserted before the last line that matches, at the end of the file without a match, or at its beginning for BOF; excludes insert_after"`
	Options      `yaml:",inline" doc:"how the file is put in place"`
}

const defaultMarker = "# {mark} managed by deployer"

func (b *TextBlock) edited() (edited, error) {
	if err := validState(b.State); err != nil {
		return edited{}, err
	}
	marker := cmp.Or(b.Marker, defaultMarker)
	if !strings.Contains(marker, "{mark}") || strings.ContainsAny(marker, "\r\n") {
		return edited{}, fmt.Errorf("marker %q: want one line with {mark} in it", marker)
	}
	where, err := newInsertPosition(b.InsertAfter, b.InsertBefore, false)
	if err != nil {
		return edited{}, err
	}
	m := markers{begin: strings.ReplaceAll(marker, "{mark}", "BEGIN"), end: strings.ReplaceAll(marker, "{mark}", "END")}
	var block []string
	if b.State != "absent" {
		block, _ = splitLines(b.Block)
	}
	if slices.Contains(block, m.begin) || slices.Contains(block, m.end) {
		return edited{}, errors.New("the block contains its own marker: choose another marker")
	}
	return edited{path: b.Path, options: b.Options, absent: block == nil, edit: func(text string) (string, error) {
		return m.put(text, block, where)
	}}, nil
}

// markers are the lines around a block.
type markers struct{ begin, end string }

// put returns the text with the block replaced or inserted; a nil block removes it
// with its markers.
func (m markers) put(text string, block []string, where insertPosition) (string, error) {
	lines, ended := splitLines(text)
	begin, end, err := m.find(lines)
	if err != nil {
		return "", err
	}
	var marked []string
	if block != nil {
		marked = slices.Concat([]string{m.begin}, block, []string{m.end})
	}
	switch {
	case begin >= 0:
		return joinLines(slices.Replace(slices.Clone(lines), begin, end+1, marked...), ended), nil
	case marked == nil:
		return text, nil
	}
	return joinLines(where.insert(lines, marked, ended)), nil
}

// find returns the indexes of the marker lines, -1 when the text has no block. A
// marker without its counterpart is an error, because no edit is safe then.
func (m markers) find(lines []string) (begin, end int, err error) {
	begin, end = slices.Index(lines, m.begin), slices.Index(lines, m.end)
	count := func(marker string) (n int) {
		for _, line := range lines {
			if line == marker {
				n++
			}
		}
		return n
	}
	switch {
	case begin < 0 && end < 0:
		return -1, -1, nil
	case count(m.begin) > 1 || count(m.end) > 1:
		return 0, 0, fmt.Errorf("more than one line is %q or %q: keep one block, or give each its own marker", m.begin, m.end)
	case begin < 0 || end < begin:
		return 0, 0, fmt.Errorf("the lines %q and %q do not enclose a block: repair the file by hand", m.begin, m.end)
	}
	return begin, end, nil
}

// Check compares the file with the edited text.
func (b *TextBlock) Check(ctx context.Context, sys engine.System) (engine.Change, error) {
	e, err := b.edited()
	if err != nil {
		return engine.Change{}, err
	}
	return e.check(ctx, sys)
}

// Apply writes the edited file.
func (b *TextBlock) Apply(ctx context.Context, sys engine.System, change engine.Change) (engine.Output, error) {
	e, err := b.edited()
	if err != nil {
		return nil, err
	}
	return e.apply(ctx, sys, change)
}
