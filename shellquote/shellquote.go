// Package shellquote quotes words for POSIX shells, and splits lines into words as they do.
// Any package may import it.
package shellquote

import (
	"regexp"
	"strings"
)

// plain matches the words that mean themselves in every shell.
var plain = regexp.MustCompile(`^[A-Za-z0-9@%+=:,./_-]+$`)

// Word returns a word that a shell reads as s: s itself where that is safe, otherwise
// s in single quotes.
func Word(s string) string {
	if plain.MatchString(s) {
		return s
	}
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}

// Line returns a command line that a shell reads as the words of argv.
func Line(argv []string) string {
	words := make([]string, len(argv))
	for i, w := range argv {
		words[i] = Word(w)
	}
	return strings.Join(words, " ")
}
