package strictyaml

import (
	"fmt"
	"slices"
	"strings"
)

// Suggest returns the candidate nearest to word, or "" when none is near: at most
// two typing errors away (one for short words), or with the same beginning.
func Suggest(word string, candidates []string) string {
	limit := min(2, max(1, len(word)/3))
	best, bestDistance := "", limit+1
	for _, c := range slices.Sorted(slices.Values(candidates)) {
		if d := distance(strings.ToLower(word), strings.ToLower(c)); d < bestDistance {
			best, bestDistance = c, d
		}
	}
	if best != "" {
		return best
	}
	for _, c := range slices.Sorted(slices.Values(candidates)) {
		if len(word) >= 3 && len(c) >= 3 && (strings.HasPrefix(c, word) || strings.HasPrefix(word, c)) {
			return c
		}
	}
	return ""
}

// Hint returns `; did you mean "x"?` when a candidate is near word; else "".
func Hint(word string, candidates []string) string {
	if s := Suggest(word, candidates); s != "" {
		return fmt.Sprintf("; did you mean %q?", s)
	}
	return ""
}

// DidYouMean returns `; did you mean "x"?` or, when nothing is near and there
// are few candidates, a list of them; else "".
func DidYouMean(word string, candidates []string) string {
	if hint := Hint(word, candidates); hint != "" {
		return hint
	}
	if n := len(candidates); n == 0 || n > 16 {
		return ""
	}
	return "; known here: " + strings.Join(slices.Sorted(slices.Values(candidates)), ", ")
}

// distance counts the insertions, deletions, replacements and swaps of
// neighbours that turn a into b (optimal string alignment).
func distance(a, b string) int {
	if d := len(a) - len(b); d > 2 || d < -2 {
		return 3 // beyond any limit of Suggest
	}
	before, last := make([]int, len(b)+1), make([]int, len(b)+1)
	for j := range last {
		last[j] = j
	}
	for i := 1; i <= len(a); i++ {
		row := make([]int, len(b)+1)
		row[0] = i
		for j := 1; j <= len(b); j++ {
			cost := 1
			if a[i-1] == b[j-1] {
				cost = 0
			}
			row[j] = min(last[j]+1, row[j-1]+1, last[j-1]+cost)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				row[j] = min(row[j], before[j-2]+1)
			}
		}
		before, last = last, row
	}
	return last[len(b)]
}
