package main

import (
	"context"
	"fmt"
	"time"
)

// restartRow has the figures of API servers that restart.
type restartRow struct {
	What       string  `json:"what"`
	Nodes      int     `json:"nodes"`
	Down       float64 `json:"down"`     // until all API servers are ready again
	Steady     float64 `json:"steady"`   // until all watches are open and each call takes less than a second
	Unsteady   bool    `json:"unsteady"` // it was not steady within steadyLimit
	Longest    float64 `json:"longest_ms"`
	Calls      int     `json:"calls"`
	Failed     int     `json:"failed"`
	Lists      int64   `json:"lists"`
	Handshakes int64   `json:"handshakes"`
	Late       int64   `json:"late"`      // Leases that were not renewed
	NotReady   int     `json:"not_ready"` // nodes
}

const (
	steadyLatency = time.Second // Kubernetes' goal for the p99 of calls for one object
	steadyTime    = 20 * time.Second
	steadyLimit   = 10 * time.Minute
	steadyShare   = 0.995 // of the watches: some are always being renewed
	slidingTime   = 5 * time.Second
)

// restartStage restarts one API server, then all three.
func (s *site) restartStage(ctx context.Context) ([]restartRow, error) {
	var rows []restartRow
	for _, c := range []struct {
		what    string
		masters []*master
	}{{"one API server", s.plane.masters[1:2]}, {"all three API servers", s.plane.masters}} {
		row, err := s.restart(ctx, c.what, c.masters)
		if err != nil {
			return rows, err
		}
		fmt.Fprintf(s.out, "%+v\n", row)
		rows = append(rows, row)
	}
	return rows, nil
}

func (s *site) restart(ctx context.Context, what string, masters []*master) (restartRow, error) {
	row := restartRow{What: what, Nodes: len(s.nodes.all)}
	s.observer.forget()
	counted, began := s.nodes.counters.now(), time.Now()
	ready := make(chan error, 1)
	go func() {
		err := s.plane.restartAPI(masters...)
		for _, m := range masters {
			if err == nil {
				err = m.awaitAPI(ctx)
			}
		}
		row.Down = time.Since(began).Seconds()
		ready <- err
	}()
	up, last := false, began // last: the last time at which the state was not steady
	for now := began; now.Sub(last) < steadyTime; now = time.Now() {
		select {
		case err := <-ready:
			if err != nil {
				return row, err
			}
			up = true
		case <-ctx.Done():
			return row, ctx.Err()
		case <-time.After(500 * time.Millisecond):
		}
		if !up || !s.steady(time.Now()) {
			last = time.Now()
		}
		if row.Unsteady = last.Sub(began) > steadyLimit; row.Unsteady {
			break
		}
	}
	if row.Unsteady && !up {
		return row, fmt.Errorf("%s restarted: not ready after %s", what, steadyLimit)
	}
	row.Steady = last.Sub(began).Seconds()
	c := s.nodes.counters.now().since(counted)
	row.Lists, row.Handshakes, row.Late, row.NotReady = c.lists, c.handshakes, c.late, s.observer.wereNotReady()
	took, failed := s.prober.between(began, last)
	row.Calls, row.Failed, row.Longest = len(took), failed, milliseconds(took, 100)
	return row, nil
}

// steady reports whether all watches are open, and the calls that ended lately took less than a second.
// Calls that began before slidingTime and have not ended were slower.
func (s *site) steady(now time.Time) bool {
	if float64(s.nodes.counters.open.Load()) < steadyShare*float64(s.nodes.watches()) {
		return false
	}
	took, failed := s.prober.between(now.Add(-slidingTime), now.Add(-steadyLatency))
	wanted := int((slidingTime-steadyLatency)/probeInterval) * 9 / 10
	return failed == 0 && len(took) >= wanted && percentile(took, 100) < steadyLatency
}
