package importer

import (
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"
)

// The forms of a host with a port: [ADDRESS]:PORT, and NAME:PORT, where a colon within
// brackets belongs to a range.
var (
	bracketedPort = regexp.MustCompile(`^\[(.+)\]:([0-9]+)$`)
	plainPort     = regexp.MustCompile(`^((?:[^:\[\]]|\[[^\]]*\])*):([0-9]+)$`)
	// portHost matches the names that may have a port: as Ansible has it, an IPv6 address or
	// labels of letters, digits, _ and -, where a range may stand for characters.
	portHost = regexp.MustCompile(`(?i)^(?:[0-9a-f:.\[\]]*:[0-9a-f:.\[\]]*|` + label + `(?:\.` + label + `)*)$`)
)

const (
	labelRange = `\[(?:[a-z]:[a-z]|[0-9]+:[0-9]+)(?::[0-9]+)?\]`
	label      = `(?:[\p{L}\p{N}_]|` + labelRange + `)(?:(?:[\p{L}\p{N}_-]|` + labelRange + `)*(?:[\p{L}\p{N}]|` + labelRange + `))?`
)

// hostPattern returns the names of a pattern with ranges, and the port behind it; 0
// without one.
func hostPattern(pattern string) (names []string, port int, err error) {
	for _, form := range []*regexp.Regexp{bracketedPort, plainPort} {
		m := form.FindStringSubmatch(pattern)
		if m == nil || !portHost.MatchString(m[1]) {
			continue
		}
		if port, err = strconv.Atoi(m[2]); err != nil {
			return nil, 0, fmt.Errorf("%s: the port is too large", pattern)
		}
		names, err = expand(m[1])
		return names, port, err
	}
	if strings.HasSuffix(pattern, ":") {
		return nil, 0, fmt.Errorf("%q ends in a colon: a port belongs behind it", pattern)
	}
	names, err = expand(pattern)
	return names, 0, err
}

// expand lists the hosts of a pattern with ranges: web[01:10], db[a:f], n[0:10:2].
func expand(pattern string) ([]string, error) {
	head, rest, ok := strings.Cut(pattern, "[")
	if !ok {
		return []string{pattern}, nil
	}
	bounds, tail, ok := strings.Cut(rest, "]")
	if !ok {
		return nil, fmt.Errorf("%q is not a valid host name", pattern)
	}
	items, err := between(bounds)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", pattern, err)
	}
	tails, err := expand(tail)
	if err != nil {
		return nil, err
	}
	if len(items)*len(tails) > maxRange {
		return nil, fmt.Errorf("%s stands for more than %d hosts", pattern, maxRange)
	}
	var out []string
	for _, item := range items {
		for _, tail := range tails {
			out = append(out, head+item+tail)
		}
	}
	return out, nil
}

// maxRange is the maximum number of hosts of one pattern; a typo such as [1:999999999]
// must not use up the memory.
const maxRange = 10000

// letters are the ends of a range of letters, in their order.
const letters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"

// between lists the items of BEGIN:END or BEGIN:END:STEP. A begin with a zero in front
// fills all numbers up to its width.
func between(bounds string) ([]string, error) {
	parts := strings.Split(bounds, ":")
	step := 1
	if len(parts) == 3 {
		var err error
		if step, err = strconv.Atoi(parts[2]); err != nil || step < 1 {
			return nil, fmt.Errorf("the step %q of a range is not a number above 0", parts[2])
		}
	} else if len(parts) != 2 {
		return nil, errors.New("a range is [BEGIN:END] or [BEGIN:END:STEP]")
	}
	first, last := parts[0], parts[1]
	if first == "" {
		first = "0"
	}
	width := 0
	if len(first) > 1 && first[0] == '0' {
		if width = len(first); width != len(last) {
			return nil, fmt.Errorf("the ends %s and %s of a range with zeros in front must have one length", first, last)
		}
	}
	show := func(n int) string { return fmt.Sprintf("%0*d", width, n) }
	a, errA := strconv.Atoi(first)
	b, errB := strconv.Atoi(last)
	if errA != nil && errB != nil && len(first) == 1 && len(last) == 1 {
		a, b = strings.Index(letters, first), strings.Index(letters, last)
		show = func(n int) string { return letters[n : n+1] }
		if a < 0 || b < 0 {
			errA = strconv.ErrSyntax
		} else {
			errA, errB = nil, nil
		}
	}
	switch {
	case errA != nil || errB != nil:
		return nil, errors.New("a range goes from number to number, or from letter to letter")
	case b < a || (b-a)/step >= maxRange:
		return nil, fmt.Errorf("the range goes backwards or is longer than %d", maxRange)
	}
	var out []string
	for n := a; n <= b; n += step {
		out = append(out, show(n))
	}
	return out, nil
}
