package dialect

import (
	"cmp"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

var versionParts = regexp.MustCompile(`[0-9]+|[A-Za-z]+`)

// prereleaseParts are the parts of a version that come before the version that they extend.
var prereleaseParts = []string{"dev", "a", "alpha", "b", "beta", "pre", "rc"}

// VersionCompare returns -1, 0 or 1: version a comes before b, equals b, or comes after b.
// Numbers are compared as numbers: 1.10 comes after 1.9. 1.2 equals 1.2.0, v1 equals 1, and
// 1.2-rc1 comes before 1.2.
func VersionCompare(a, b string) int {
	left, right := parts(a), parts(b)
	for i := range max(len(left), len(right)) {
		if c := cmp.Compare(weight(left, i), weight(right, i)); c != 0 {
			return c
		}
		if i < len(left) && i < len(right) {
			if c := comparePart(left[i], right[i]); c != 0 {
				return c
			}
		} else if i < len(left) && partNumber(left[i]) > 0 {
			return 1
		} else if i < len(right) && partNumber(right[i]) > 0 {
			return -1
		}
	}
	return 0
}

func parts(version string) []string {
	return versionParts.FindAllString(strings.ToLower(strings.TrimLeft(version, "vV")), -1)
}

// weight orders the kinds of part that may stand in one place: a prerelease, nothing or a
// number, any other word.
func weight(parts []string, i int) int {
	switch {
	case i >= len(parts) || partNumber(parts[i]) >= 0:
		return 0
	case slices.Contains(prereleaseParts, parts[i]):
		return -1
	}
	return 1
}

func comparePart(a, b string) int {
	if partNumber(a) >= 0 && partNumber(b) >= 0 {
		return cmp.Compare(partNumber(a), partNumber(b))
	}
	return cmp.Compare(a, b)
}

// partNumber returns the value of digits, and -1 for any other text.
func partNumber(s string) int {
	n, err := strconv.Atoi(s)
	if err != nil {
		return -1
	}
	return n
}

// VersionText accepts a number of a YAML file as the text that its author meant. 1.10 has
// lost its zero by then, which cannot be detected.
func VersionText(v any) (string, bool) {
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
