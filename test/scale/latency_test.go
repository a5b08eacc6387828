package main

import (
	"errors"
	"testing"
	"time"
)

func TestPercentile(t *testing.T) {
	var hundred []time.Duration
	for i := range 100 {
		hundred = append(hundred, time.Duration(100-i))
	}
	for _, c := range []struct {
		all  []time.Duration
		p    float64
		want time.Duration
	}{{nil, 99, 0}, {[]time.Duration{7}, 50, 7}, {hundred, 50, 50}, {hundred, 99, 99}, {hundred, 100, 100}, {hundred, 0, 1}, {[]time.Duration{1, 2, 3}, 99, 3}} {
		if got := percentile(c.all, c.p); got != c.want {
			t.Errorf("p%v of %d: got %d, want %d", c.p, len(c.all), got, c.want)
		}
	}
}

func TestCallsBetween(t *testing.T) {
	var c calls
	start := time.Unix(100, 0)
	for i := range 5 {
		one := call{began: start.Add(time.Duration(i) * time.Second), took: time.Duration(i)}
		if i == 2 {
			one.err = errors.New("failed")
		}
		c.add(one)
	}
	took, failed := c.between(start.Add(time.Second), start.Add(3*time.Second))
	if len(took) != 2 || took[0] != 1 || failed != 1 {
		t.Errorf("got %v, %d failed", took, failed)
	}
}
