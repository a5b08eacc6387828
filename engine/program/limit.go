package program

import (
	"fmt"
	"strconv"
	"strings"
)

// Limit is how many hosts of a group may be lost: a number, or a share.
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

// Of returns how many hosts of total may be lost. A share is rounded down, so
// 10% of 5 hosts is none: a budget never allows more than what was written.
func (l Limit) Of(total int) int {
	if l.Share {
		return int(l.Percent * float64(total) / 100)
	}
	return l.Count
}

// String is the limit as it is written.
func (l Limit) String() string {
	if l.Share {
		return strconv.FormatFloat(l.Percent, 'g', -1, 64) + "%"
	}
	return strconv.Itoa(l.Count)
}
