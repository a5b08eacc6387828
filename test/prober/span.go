package prober

import (
	"math"
	"time"
)

// span adds up the times during which a condition held.
type span struct {
	since time.Time // begin of the current time; zero while the condition does not hold
	total time.Duration
	times int
}

func (s *span) open(now time.Time) {
	if s.since.IsZero() {
		s.since = now
		s.times++
	}
}

func (s *span) close(now time.Time) {
	if !s.since.IsZero() {
		s.total += now.Sub(s.since)
		s.since = time.Time{}
	}
}

func seconds(spans map[string]*span) map[string]float64 {
	out := map[string]float64{}
	for name, s := range spans {
		out[name] = round(s.total)
	}
	return out
}

// round returns seconds with two decimals.
func round(d time.Duration) float64 { return math.Round(d.Seconds()*100) / 100 }
