package importer

import (
	"errors"
	"strings"
)

// splitWords splits a text as Python's shlex.split does: a backslash in double quotes
// escapes only itself and the quote. With comments, a # outside of quotes begins a
// comment, within a word too.
func splitWords(line string, comments bool) ([]string, error) {
	s := shellSplitter{comments: comments}
	for _, r := range line {
		if s.take(r) {
			break
		}
	}
	if s.quote != 0 {
		return nil, errors.New("a quote is not closed")
	}
	if s.escaped {
		return nil, errors.New("a backslash at the end escapes nothing")
	}
	s.endWord()
	return s.out, nil
}

type shellSplitter struct {
	comments bool
	out      []string
	word     strings.Builder
	begun    bool // there is a word, maybe of no characters
	quote    rune
	escaped  bool
}

// take adds a character, and reports whether a comment begins there.
func (s *shellSplitter) take(r rune) bool {
	switch {
	case s.escaped:
		if s.quote != 0 && r != '\\' && r != s.quote {
			s.word.WriteRune('\\')
		}
		s.word.WriteRune(r)
		s.escaped = false
	case r == '\\' && s.quote != '\'':
		s.escaped, s.begun = true, true
	case s.quote != 0 && r == s.quote:
		s.quote = 0
	case s.quote != 0:
		s.word.WriteRune(r)
	case r == '\'' || r == '"':
		s.quote, s.begun = r, true
	case r == '#' && s.comments:
		return true
	case strings.ContainsRune(" \t\r\n", r):
		s.endWord()
	default:
		s.word.WriteRune(r)
		s.begun = true
	}
	return false
}

func (s *shellSplitter) endWord() {
	if s.begun {
		s.out = append(s.out, s.word.String())
	}
	s.word.Reset()
	s.begun = false
}
