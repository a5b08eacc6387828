package spread

import (
	"slices"
	"time"
)

// durations has the last durations of chunks, to which a source is compared: a network may be
// slow as a whole.
type durations struct {
	last   [64]time.Duration
	count  int
	median time.Duration // of last; renewed with each eighth duration
}

const (
	// slowFactor is how many times longer than the median a slow source takes. Sources serve up to
	// DefaultLimits().Uploads others, and a core that many racks share has bursts.
	slowFactor = 6
	// minSlow is the shortest duration of a chunk that counts as slow.
	minSlow = 500 * time.Millisecond
)

func (d *durations) add(took time.Duration) {
	d.last[d.count%len(d.last)] = took
	d.count++
	if d.count%8 == 0 {
		sorted := slices.Clone(d.last[:min(d.count, len(d.last))])
		slices.Sort(sorted)
		d.median = sorted[len(sorted)/2]
	}
}

// isSlow reports whether a chunk took much longer than others; false until there are some.
func (d *durations) isSlow(took time.Duration) bool {
	return d.median > 0 && took >= minSlow && took > slowFactor*d.median
}
