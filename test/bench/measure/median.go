package measure

import (
	"slices"
	"time"
)

// Median returns the median of durations, 0 without any. For an even number of them
// it is the mean of the two in the middle.
func Median(all []time.Duration) time.Duration {
	sorted := slices.Sorted(slices.Values(all))
	middle := len(sorted) / 2
	switch {
	case len(sorted) == 0:
		return 0
	case len(sorted)%2 == 1:
		return sorted[middle]
	}
	return (sorted[middle-1] + sorted[middle]) / 2
}
