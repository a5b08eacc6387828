package importer

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
)

var rangePart = regexp.MustCompile(`\[([0-9]+|[a-zA-Z]):([0-9]+|[a-zA-Z])(?::([0-9]+))?\]`)

// expand lists the hosts of a pattern with ranges: web[01:10], db[a:f], n[0:10:2].
func expand(pattern string) ([]string, error) {
	m := rangePart.FindStringSubmatchIndex(pattern)
	if m == nil {
		if strings.ContainsAny(pattern, "[]") {
			return nil, fmt.Errorf("%q is not a valid host name", pattern)
		}
		return []string{pattern}, nil
	}
	items, err := between(pattern[m[2]:m[3]], pattern[m[4]:m[5]], part(pattern, m[6], m[7]))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", pattern, err)
	}
	tails, err := expand(pattern[m[1]:])
	if err != nil {
		return nil, err
	}
	if len(items)*len(tails) > maxRange {
		return nil, fmt.Errorf("%s stands for more than %d hosts", pattern, maxRange)
	}
	var out []string
	for _, item := range items {
		for _, tail := range tails {
			out = append(out, pattern[:m[0]]+item+tail)
		}
	}
	return out, nil
}

func part(s string, from, to int) string {
	if from < 0 {
		return "1"
	}
	return s[from:to]
}

// maxRange is the maximum number of hosts of one pattern; a typo such as [1:999999999]
// must not use up the memory.
const maxRange = 10000

func between(first, last, by string) ([]string, error) {
	step, err := strconv.Atoi(by)
	if err != nil || step < 1 {
		return nil, fmt.Errorf("the step %q of a range is not a number above 0", by)
	}
	a, errA := strconv.Atoi(first)
	b, errB := strconv.Atoi(last)
	if errA != nil || errB != nil {
		if len(first) != 1 || len(last) != 1 || errA == nil || errB == nil {
			return nil, fmt.Errorf("a range goes from number to number, or from letter to letter")
		}
		a, b = int(first[0]), int(last[0])
	}
	if b < a || (b-a)/step >= maxRange {
		return nil, fmt.Errorf("the range goes backwards or is longer than %d", maxRange)
	}
	var out []string
	for n := a; n <= b; n += step {
		if errA != nil {
			out = append(out, string(rune(n)))
			continue
		}
		out = append(out, fmt.Sprintf("%0*d", len(first), n))
	}
	return out, nil
}
