package edit

import (
	"context"
	"errors"
	"regexp"

	"deployer/engine"
)

// Replace replaces all matches of a regular expression.
type Replace struct {
	Path        string `yaml:"path" rule:"path" required:"true" doc:"absolute path on the host"`
	Regexp      string `yaml:"regexp" rule:"regexp" required:"true" doc:"regular expression (Go's syntax) searched in the whole text; ^ and $ match at line ends, (?s) lets a dot match line ends"`
	Replacement string `yaml:"replacement" rule:"text" doc:"replacement of each match; ${1} and ${name} are groups, $$ is a dollar sign. Default empty"`
	After       string `yaml:"after" rule:"regexp" doc:"regular expression; only the text after its first match is searched. Without a match nothing is replaced"`
	Before      string `yaml:"before" rule:"regexp" doc:"regular expression; only the text before its first match (after the match of after) is searched. Without a match nothing is replaced"`
	Options     `yaml:",inline" doc:"how the file is put in place"`
}

func (r *Replace) edited() (edited, error) {
	if r.Regexp == "" {
		return edited{}, errors.New("regexp is missing")
	}
	if r.Create {
		return edited{}, errors.New("create: a file that does not exist has nothing to replace")
	}
	re, err := compile("regexp", r.Regexp)
	if err != nil {
		return edited{}, err
	}
	after, err := compile("after", r.After)
	if err != nil {
		return edited{}, err
	}
	before, err := compile("before", r.Before)
	if err != nil {
		return edited{}, err
	}
	return edited{path: r.Path, options: r.Options, raw: explainReturns(r.Regexp), edit: func(text string) (string, error) {
		from, to, ok := span(text, after, before)
		if !ok {
			return text, nil
		}
		return text[:from] + re.ReplaceAllString(text[from:to], r.Replacement) + text[to:], nil
	}}, nil
}

// span returns the part of the text between after and before; ok is false when one of
// them does not match.
func span(text string, after, before *regexp.Regexp) (from, to int, ok bool) {
	to = len(text)
	if after != nil {
		found := after.FindStringIndex(text)
		if found == nil {
			return 0, 0, false
		}
		from = found[1]
	}
	if before != nil {
		found := before.FindStringIndex(text[from:])
		if found == nil {
			return 0, 0, false
		}
		to = from + found[0]
	}
	return from, to, true
}

// Check compares the file with the edited text.
func (r *Replace) Check(ctx context.Context, sys engine.System) (engine.Change, error) {
	e, err := r.edited()
	if err != nil {
		return engine.Change{}, err
	}
	return e.check(ctx, sys)
}

// Apply writes the edited file.
func (r *Replace) Apply(ctx context.Context, sys engine.System, change engine.Change) (engine.Output, error) {
	e, err := r.edited()
	if err != nil {
		return nil, err
	}
	return e.apply(ctx, sys, change)
}

var (
	_ engine.Module = (*Line)(nil)
	_ engine.Module = (*TextBlock)(nil)
	_ engine.Module = (*Replace)(nil)
)
