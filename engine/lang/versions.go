package lang

import (
	"cmp"
	"errors"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// versionName is the function that compares versions, in expressions and in
// templates: versionCompare(facts.os_version, "12") >= 0.
const versionName = "versionCompare"

var versionParts = regexp.MustCompile(`[0-9]+|[A-Za-z]+`)

// prereleaseParts are parts that stand for something before the version that they follow.
var prereleaseParts = []string{"dev", "a", "alpha", "b", "beta", "pre", "rc"}

// versionCompare returns -1, 0 or 1, as version a comes before b, is the same or
// comes after it. Numbers are compared as such, 1.10 is after 1.9; 1.2 is 1.2.0, v1
// is 1, and 1.2-rc1 comes before 1.2.
func versionCompare(a, b string) int {
	left, right := parts(a), parts(b)
	for i := range max(len(left), len(right)) {
		if c := cmp.Compare(weight(left, i), weight(right, i)); c != 0 {
			return c
		}
		if i < len(left) && i < len(right) {
			if c := comparePart(left[i], right[i]); c != 0 {
				return c
			}
		} else if i < len(left) && number(left[i]) > 0 {
			return 1
		} else if i < len(right) && number(right[i]) > 0 {
			return -1
		}
	}
	return 0
}

func parts(version string) []string {
	return versionParts.FindAllString(strings.ToLower(strings.TrimLeft(version, "vV")), -1)
}

// weight orders what may stand in one place: rc, nothing or a number, a word.
func weight(parts []string, i int) int {
	switch {
	case i >= len(parts) || number(parts[i]) >= 0:
		return 0
	case slices.Contains(prereleaseParts, parts[i]):
		return -1
	}
	return 1
}

func comparePart(a, b string) int {
	if number(a) >= 0 && number(b) >= 0 {
		return cmp.Compare(number(a), number(b))
	}
	return cmp.Compare(a, b)
}

// number is the value of digits, -1 of anything else.
func number(s string) int {
	n, err := strconv.Atoi(s)
	if err != nil {
		return -1
	}
	return n
}

// versionCompareExpr is the function as expressions call it.
func versionCompareExpr(args ...any) (any, error) {
	a, ok := versionText(args[0])
	b, good := versionText(args[1])
	if !ok || !good {
		return nil, errors.New("versionCompare wants two texts")
	}
	return versionCompare(a, b), nil
}

// versionText takes a number of a YAML file for the text that was meant; 1.10 has
// lost its zero there, which nobody can know.
func versionText(v any) (string, bool) {
	switch t := v.(type) {
	case string:
		return t, true
	case int:
		return strconv.Itoa(t), true
	case float64:
		return strconv.FormatFloat(t, 'f', -1, 64), true
	}
	return "", false
}
