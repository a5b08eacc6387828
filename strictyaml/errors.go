package strictyaml

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"gopkg.in/yaml.v3"
)

// Pos is a place in a file. Lines and columns count from 1; zero means unknown.
type Pos struct {
	File string `json:"file"`
	Line int    `json:"line"`
	Col  int    `json:"col"`
}

// At returns the position of a node in file, or in the file that SetOrigin has given it.
func At(file string, n *yaml.Node) Pos {
	if n == nil {
		return Pos{File: file}
	}
	return Pos{File: originOf(n, file), Line: n.Line, Col: n.Column}
}

// String returns "file:line:col", without the unknown parts.
func (p Pos) String() string {
	switch {
	case p.Line == 0:
		return p.File
	case p.Col == 0:
		return fmt.Sprintf("%s:%d", p.File, p.Line)
	}
	return fmt.Sprintf("%s:%d:%d", p.File, p.Line, p.Col)
}

// Errorf returns an error at this position.
func (p Pos) Errorf(format string, args ...any) *Error {
	return &Error{File: p.File, Line: p.Line, Col: p.Col, Msg: fmt.Sprintf(format, args...)}
}

// Error is one problem of a document.
type Error struct {
	File string `json:"file"`
	Line int    `json:"line"` // from 1; 0 when unknown
	Col  int    `json:"col"`  // from 1; 0 when unknown
	Msg  string `json:"message"`
}

// Error returns "file:line:col: message".
func (e *Error) Error() string {
	pos := Pos{e.File, e.Line, e.Col}.String()
	if pos == "" {
		return e.Msg
	}
	return pos + ": " + e.Msg
}

// Errors are all problems of a document, ordered by place.
type Errors []*Error

// Error returns one error a line.
func (es Errors) Error() string {
	lines := make([]string, len(es))
	for i, e := range es {
		lines[i] = e.Error()
	}
	return strings.Join(lines, "\n")
}

// Unwrap lets errors.As find each *Error.
func (es Errors) Unwrap() []error {
	out := make([]error, len(es))
	for i, e := range es {
		out[i] = e
	}
	return out
}

// Join combines errors into one Errors, sorted by place and without duplicates; nil when
// there are none. Errors of other types become entries with their text and no position.
func Join(errs ...error) error {
	var all Errors
	for _, err := range errs {
		all = append(all, collect(err)...)
	}
	return all.orNil()
}

func collect(err error) Errors {
	var many Errors
	var one *Error
	switch {
	case err == nil:
		return nil
	case errors.As(err, &many):
		return many
	case errors.As(err, &one):
		return Errors{one}
	}
	return Errors{{Msg: err.Error()}}
}

func (es Errors) orNil() error {
	if len(es) == 0 {
		return nil
	}
	slices.SortStableFunc(es, func(a, b *Error) int {
		return cmp.Or(cmp.Compare(a.File, b.File), cmp.Compare(a.Line, b.Line),
			cmp.Compare(a.Col, b.Col), cmp.Compare(a.Msg, b.Msg))
	})
	return slices.CompactFunc(es, func(a, b *Error) bool { return *a == *b })
}
