package program

import (
	"fmt"
	"strconv"
	"strings"
)

// Limit is a number of hosts, or a share of a group of hosts.
type Limit struct {
	Count   int
	Percent float64
	// Share is true when Percent counts, not Count.
	Share bool
}

// ParseLimit reads "3" or "10%".
func ParseLimit(s string) (Limit, error) {
	s = strings.TrimSpace(s)
	if share, ok := strings.CutSuffix(s, "%"); ok {
		p, err := strconv.ParseFloat(strings.TrimSpace(share), 64)
		if err != nil || !(p >= 0 && p <= 100) {
			return Limit{}, fmt.Errorf("%q is not a share of hosts; write a number from 0%% to 100%%", s)
		}
		return Limit{Percent: p, Share: true}, nil
	}
	n, err := strconv.Atoi(s)
	if err != nil || n < 0 {
		return Limit{}, fmt.Errorf("%q is not a number of hosts; write something like 2 or 10%%", s)
	}
	return Limit{Count: n}, nil
}

// Of returns the number of hosts, of total. A share is rounded down: 10% of 5 hosts is
// none, so that a budget never allows more than its text.
func (l Limit) Of(total int) int {
	if l.Share {
		return int(l.Percent * float64(total) / 100)
	}
	return l.Count
}

// String returns the limit as a playbook writes it.
func (l Limit) String() string {
	if l.Share {
		return strconv.FormatFloat(l.Percent, 'g', -1, 64) + "%"
	}
	return strconv.Itoa(l.Count)
}
