package main

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// proxyRow has the figures of one proxy with one timeout.
type proxyRow struct {
	Proxy   string `json:"proxy"`
	Timeout string `json:"timeout"`
	Checks  int    `json:"checks"` // number of proxies whose checks the API servers answer
	Nodes   int    `json:"nodes"`

	Seconds    float64 `json:"seconds"`    // of the measurement
	Processors parts   `json:"processors"` // busy processors
	Handshakes float64 `json:"handshakes"` // TLS handshakes per second
	Opened     float64 `json:"opened"`     // watches that were opened, per second
	Cut        float64 `json:"cut"`        // watches that were cut, per second
	Lists      float64 `json:"lists"`      // watches that began with all objects, per second
	Open       float64 `json:"open"`       // share of the watches that are open at the end
	Late       int64   `json:"late"`       // Leases that were not renewed
	Lost       int     `json:"lost"`       // components of the control plane that have ended
	NotReady   int     `json:"not_ready"`  // nodes
	Calls      int     `json:"calls"`
	Failed     int     `json:"failed"`
	P50        float64 `json:"p50_ms"`
	P99        float64 `json:"p99_ms"`
}

// proxyStage measures both proxies with each timeout, and HAProxy with the checks of as many proxies as
// there are nodes. The timeout of 3 s comes last: the machine may be too small for it, and nodes whose
// Leases are late are lost.
func (s *site) proxyStage(ctx context.Context) ([]proxyRow, error) {
	var rows []proxyRow
	for _, c := range []struct {
		kind    string
		timeout time.Duration
		checks  int
	}{
		{"haproxy", 10 * time.Minute, 1}, {"nginx", 10 * time.Minute, 1},
		{"haproxy", time.Minute, 1}, {"nginx", time.Minute, 1},
		{"haproxy", 10 * time.Minute, profileNodes},
		{"haproxy", 3 * time.Second, 1}, {"nginx", 3 * time.Second, 1},
	} {
		row, err := s.proxyRow(ctx, c.kind, c.timeout, c.checks)
		if err != nil {
			return rows, err
		}
		rows = append(rows, row)
	}
	return rows, nil
}

// backTime is the maximum time that the watches have to come back; the figures say how many are open.
const backTime = time.Minute

func (s *site) proxyRow(ctx context.Context, kind string, timeout time.Duration, checks int) (proxyRow, error) {
	row := proxyRow{Proxy: kind, Timeout: shortDuration(timeout), Checks: checks, Nodes: s.options.nodes}
	if err := s.useProxy(ctx, settings{proxy: kind, timeout: timeout}, checks); err != nil {
		return row, err
	}
	// With the shortest timeout, or on a machine that is too small, some watches are always away.
	if err := s.nodes.awaitWatches(ctx, backTime, 0.999); err != nil && !errors.Is(err, errTimeout) {
		return row, err
	}
	if err := sleep(ctx, s.settle); err != nil {
		return row, err
	}
	before, err := s.processorTime()
	if err != nil {
		return row, err
	}
	s.observer.forget()
	counted, began := s.nodes.counters.now(), time.Now()
	if err := sleep(ctx, s.window); err != nil {
		return row, err
	}
	after, err := s.processorTime()
	if err != nil {
		return row, err
	}
	end := time.Now()
	row.Seconds = end.Sub(began).Seconds()
	c := s.nodes.counters.now().since(counted)
	row.Open = float64(s.nodes.counters.open.Load()) / float64(s.nodes.watches())
	row.Processors = after.per(before, row.Seconds)
	row.Handshakes, row.Opened = float64(c.handshakes)/row.Seconds, float64(c.opened)/row.Seconds
	row.Cut, row.Lists, row.Late = float64(c.cut)/row.Seconds, float64(c.lists)/row.Seconds, c.late
	row.NotReady = s.observer.wereNotReady()
	took, failed := s.prober.between(began, end)
	row.Calls, row.Failed, row.P50, row.P99 = len(took), failed, milliseconds(took, 50), milliseconds(took, 99)
	lost := s.plane.lost
	err = s.failed()
	row.Lost = s.plane.lost - lost
	fmt.Fprintf(s.out, "%+v\n", row)
	return row, err
}

// shortDuration formats a timeout as the inventory has it.
func shortDuration(d time.Duration) string {
	if d >= time.Minute {
		return fmt.Sprintf("%dm", d/time.Minute)
	}
	return fmt.Sprintf("%ds", d/time.Second)
}

func sleep(ctx context.Context, d time.Duration) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(d):
		return nil
	}
}
