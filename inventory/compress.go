package inventory

import (
	"cmp"
	"fmt"
	"strconv"
	"strings"
)

// Compress returns names with ranges where neighbours in the list count up by one: n1,
// n2, n3, x is n[1:3], x. Expanding each result returns the names in the same order.
func Compress(names []string) []string {
	var out []string
	for i := 0; i < len(names); {
		n := run(names[i:])
		if n < 2 {
			out = append(out, names[i])
			i++
			continue
		}
		head, first := splitNumber(names[i])
		_, last := splitNumber(names[i+n-1])
		out = append(out, fmt.Sprintf("%s[%s:%s]", head, first, last))
		i += n
	}
	return out
}

// CompressText returns the result of Compress as one text, for messages.
func CompressText(names []string) string { return strings.Join(Compress(names), ", ") }

// ByNumber compares names so that n2 comes before n10, for lists whose order in the
// inventory is not known.
func ByNumber(a, b string) int {
	headA, numberA := splitNumber(a)
	headB, numberB := splitNumber(b)
	x, _ := strconv.Atoi(numberA) // 0 without digits
	y, _ := strconv.Atoi(numberB)
	return cmp.Or(strings.Compare(headA, headB), cmp.Compare(x, y), strings.Compare(a, b))
}

// run returns the number of leading names that form one range.
func run(names []string) int {
	head, first := splitNumber(names[0])
	start, err := strconv.Atoi(first)
	if err != nil || strings.ContainsAny(head, "[]") {
		return 1
	}
	n := 1
	for n < len(names) && n < MaxHosts && names[n] == fmt.Sprintf("%s%0*d", head, len(first), start+n) && start+n < 1e9 {
		n++
	}
	return n
}

// splitNumber splits a name before its trailing digits, at most nine of them.
func splitNumber(name string) (head, number string) {
	i := len(name)
	for i > 0 && len(name)-i < 9 && name[i-1] >= '0' && name[i-1] <= '9' {
		i--
	}
	return name[:i], name[i:]
}
