package main

import (
	"math"
	"slices"
	"sync"
	"time"
)

// percentile returns the smallest duration that at least p percent of all are not longer than; 0 without any.
func percentile(all []time.Duration, p float64) time.Duration {
	if len(all) == 0 {
		return 0
	}
	sorted := slices.Sorted(slices.Values(all))
	rank := int(math.Ceil(p / 100 * float64(len(sorted))))
	return sorted[min(max(rank, 1), len(sorted))-1]
}

// call is a call of the prober that has ended.
type call struct {
	began time.Time
	took  time.Duration
	err   error
}

// calls collects calls.
type calls struct {
	mu  sync.Mutex
	all []call
}

func (c *calls) add(one call) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.all = append(c.all, one)
}

// between returns the durations of the calls that began in a time, and the number of those that failed.
// A call that failed counts with its duration.
func (c *calls) between(from, to time.Time) (took []time.Duration, failed int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, one := range c.all {
		if one.began.Before(from) || !one.began.Before(to) {
			continue
		}
		took = append(took, one.took)
		if one.err != nil {
			failed++
		}
	}
	return took, failed
}
