// Package shortlist writes the first of many names or texts for people, and counts the
// others; it writes numbers of things, too. Any package may import it.
package shortlist

import (
	"strconv"
	"strings"
)

// Names joins the first n names and counts the others: "a, b and 3 more".
func Names(names []string, n int) string { return join(names, n, ", ", " and ") }

// Texts joins the first n texts, which may contain commas, and counts the others:
// "a; b; and 3 more".
func Texts(texts []string, n int) string { return join(texts, n, "; ", "; and ") }

func join(list []string, n int, separator, last string) string {
	if len(list) <= n {
		return strings.Join(list, separator)
	}
	return strings.Join(list[:n], separator) + last + strconv.Itoa(len(list)-n) + " more"
}

// Count writes a number of things whose plural ends in s: "1 host", "2 hosts".
func Count(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return strconv.Itoa(n) + " " + noun + "s"
}
