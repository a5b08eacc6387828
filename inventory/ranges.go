package inventory

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
)

// MaxHosts is the maximum number of hosts of an inventory and of a range. Kubernetes is
// tested up to 5000 nodes (its guide "Considerations for large clusters"), and a
// mistyped range must not exhaust the memory.
const MaxHosts = 10000

var rangeShape = regexp.MustCompile(`\[(\d{1,9}):(\d{1,9})(?::(\d{1,9}))?\]`)

// Expand expands the ranges in a text: n[1:3] is n1, n2, n3; n[008:10] is n008, n009,
// n010 (with the width of the first number); n[0:6:3] counts in steps. Both ends are
// included. The last of several ranges varies fastest. A text without ranges is returned
// unchanged.
func Expand(text string) ([]string, error) {
	out := []string{""}
	rest := text
	for {
		m := rangeShape.FindStringSubmatchIndex(rest)
		if m == nil {
			break
		}
		numbers, err := count(rest[m[2]:m[3]], rest[m[4]:m[5]], group(rest, m, 3))
		if err != nil {
			return nil, fmt.Errorf("range %s: %w", rest[m[0]:m[1]], err)
		}
		if len(out)*len(numbers) > MaxHosts {
			return nil, fmt.Errorf("%s stands for more than %d", text, MaxHosts)
		}
		out = combine(out, rest[:m[0]], numbers)
		rest = rest[m[1]:]
		if strings.ContainsAny(out[0], "[]") {
			break
		}
	}
	if strings.ContainsAny(rest, "[]") || strings.ContainsAny(out[0], "[]") {
		return nil, fmt.Errorf("%s: want a range as in n[1:3] or n[001:100]", text)
	}
	for i := range out {
		out[i] += rest
	}
	return out, nil
}

func group(s string, m []int, i int) string {
	if m[2*i] < 0 {
		return ""
	}
	return s[m[2*i]:m[2*i+1]]
}

func combine(heads []string, text string, numbers []string) []string {
	out := make([]string, 0, len(heads)*len(numbers))
	for _, h := range heads {
		for _, n := range numbers {
			out = append(out, h+text+n)
		}
	}
	return out
}

// count lists the numbers of a range, padded like the first one.
func count(first, last, step string) ([]string, error) {
	a, _ := strconv.Atoi(first) // at most nine digits, by rangeShape
	b, _ := strconv.Atoi(last)
	by := 1
	if step != "" {
		by, _ = strconv.Atoi(step)
	}
	switch {
	case by == 0:
		return nil, fmt.Errorf("a step of 0 never ends")
	case b < a:
		return nil, fmt.Errorf("the end is before the start")
	case (b-a)/by >= MaxHosts:
		return nil, fmt.Errorf("more than %d", MaxHosts)
	}
	out := make([]string, 0, (b-a)/by+1)
	for i := a; i <= b; i += by {
		out = append(out, fmt.Sprintf("%0*d", len(first), i))
	}
	return out, nil
}
