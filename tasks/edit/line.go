package edit

import (
	"context"
	"errors"
	"regexp"
	"slices"
	"strings"

	"deployer/engine"
)

// Line manages one line of a file.
type Line struct {
	Path         string `yaml:"path" rule:"path" required:"true" doc:"absolute path on the host"`
	Line         string `yaml:"line" rule:"line" doc:"the line, without line end; optional with state absent and regexp"`
	Regexp       string `yaml:"regexp" rule:"regexp" doc:"regular expression (Go's syntax): the last line that matches is replaced; with state absent, all lines that match are removed. Default: the line itself"`
	State        string `yaml:"state" rule:"in:present,absent" doc:"present or absent; default present"`
	InsertAfter  string `yaml:"insert_after" rule:"position" doc:"regular expression; a new line is inserted after the last line that matches, or at the end of the file for EOF or without a match; default EOF"`
	InsertBefore string `yaml:"insert_before" rule:"position" doc:"regular expression; a new line is inserted before the last line that matches, at the end of the file without a match, or at its beginning for BOF; excludes insert_after"`
	FirstMatch   bool   `yaml:"first_match" doc:"use the first line that matches instead of the last; default false"`
	Backrefs     bool   `yaml:"backrefs" doc:"${1} and ${name} in line stand for groups of regexp; without a match nothing is inserted. Default false"`
	Options      `yaml:",inline" doc:"how the file is put in place"`
}

func (l *Line) edited() (edited, error) {
	if err := l.Valid(); err != nil {
		return edited{}, err
	}
	re, err := compile("regexp", l.Regexp)
	if err != nil {
		return edited{}, err
	}
	where, err := newInsertPosition(l.InsertAfter, l.InsertBefore, l.FirstMatch)
	if err != nil {
		return edited{}, err
	}
	edit := func(text string) (string, error) { return l.present(text, re, where), nil }
	if l.State == "absent" {
		edit = func(text string) (string, error) { return l.without(text, re), nil }
	}
	return edited{path: l.Path, options: l.Options, absent: l.State == "absent", edit: edit, raw: explainReturns(l.Regexp)}, nil
}

// Valid implements engine.Validator.
func (l *Line) Valid() error {
	if err := validState(l.State); err != nil {
		return err
	}
	switch {
	case strings.ContainsAny(l.Line, "\r\n"):
		return errors.New("line has a line end: it is one line; use block for more")
	case l.State == "absent" && l.Line == "" && l.Regexp == "":
		return errors.New("want line or regexp: what is to be taken away")
	case l.State != "absent" && l.Line == "":
		return errors.New("line is missing")
	case l.Backrefs && l.Regexp == "":
		return errors.New("backrefs needs regexp")
	}
	return nil
}

// present returns the text with the line: in the place of the match, otherwise at its
// position, unless the text has the line already.
func (l *Line) present(text string, re *regexp.Regexp, where insertPosition) string {
	lines, ended := splitLines(text)
	if re != nil {
		if i := match(lines, re, l.FirstMatch); i >= 0 {
			lines = slices.Clone(lines)
			lines[i] = l.replacement(lines[i], re)
			return joinLines(lines, ended)
		}
	}
	if l.Backrefs || slices.Contains(lines, l.Line) {
		return text
	}
	return joinLines(where.insert(lines, []string{l.Line}, ended))
}

func (l *Line) replacement(old string, re *regexp.Regexp) string {
	if !l.Backrefs {
		return l.Line
	}
	return string(re.ExpandString(nil, l.Line, old, re.FindStringSubmatchIndex(old)))
}

// without returns the text without the lines that match or that equal the line.
func (l *Line) without(text string, re *regexp.Regexp) string {
	lines, ended := splitLines(text)
	return joinLines(slices.DeleteFunc(lines, func(s string) bool {
		if re != nil {
			return re.MatchString(s)
		}
		return s == l.Line
	}), ended)
}

// Check compares the file with the edited text.
func (l *Line) Check(ctx context.Context, sys engine.System) (engine.Change, error) {
	e, err := l.edited()
	if err != nil {
		return engine.Change{}, err
	}
	return e.check(ctx, sys)
}

// Apply writes the edited file.
func (l *Line) Apply(ctx context.Context, sys engine.System, change engine.Change) (engine.Output, error) {
	e, err := l.edited()
	if err != nil {
		return nil, err
	}
	return e.apply(ctx, sys, change)
}
