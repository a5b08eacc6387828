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

// TextBlock makes sure of lines between two markers in a file.
type TextBlock struct {
	Path         string `yaml:"path" required:"true" doc:"absolute path on the host"`
	Block        string `yaml:"block" doc:"the lines; empty takes the block and its markers away"`
	Marker       string `yaml:"marker" doc:"line around the block, with {mark} in the place of BEGIN and END; two blocks of one file need different ones. Default \"# {mark} managed by deployer\""`
	State        string `yaml:"state" doc:"present or absent; default present"`
	InsertAfter  string `yaml:"insert_after" doc:"regular expression (Go's syntax) of the line, the last one that matches, after which a new block goes, or EOF; default EOF, also when none matches"`
	InsertBefore string `yaml:"insert_before" doc:"regular expression of the line before which a new block goes, or BOF; instead of insert_after"`
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
		return edited{}, errors.New("the block has its own marker in it: choose another marker")
	}
	return edited{path: b.Path, options: b.Options, absent: block == nil, edit: func(text string) (string, error) {
		return m.put(text, block, where)
	}}, nil
}

// markers are the lines around a block.
type markers struct{ begin, end string }

// put is the text with the lines as its block; with none of them, without block
// and markers.
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

// find returns the lines of the markers, -1 when there is no block. One marker
// without the other is somebody's mistake that no edit can guess right.
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
		return 0, 0, fmt.Errorf("there is more than one line %q or %q: leave one block, or give each its own marker", m.begin, m.end)
	case begin < 0 || end < begin:
		return 0, 0, fmt.Errorf("the lines %q and %q do not enclose a block: mend the file by hand", m.begin, m.end)
	}
	return begin, end, nil
}

// Check compares the file with what the edit makes of it.
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
