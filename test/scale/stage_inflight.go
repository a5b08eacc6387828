package main

import (
	"context"
	"fmt"
	"sync"
	"time"
)

// inflightRow has the figures of one pair of limits.
type inflightRow struct {
	Reads    int  `json:"reads"`    // --max-requests-inflight
	Writes   int  `json:"writes"`   // --max-mutating-requests-inflight
	Fairness bool `json:"fairness"` // API Priority and Fairness, on by default since Kubernetes 1.20
	Nodes    int  `json:"nodes"`
	Workers  int  `json:"workers"` // requests that the clients have in flight

	Seconds    float64 `json:"seconds"`
	Served     float64 `json:"served"`  // requests per second
	Refused    float64 `json:"refused"` // answered with 429, per second
	Failed     int     `json:"failed"`  // other failures
	TimedOut   int     `json:"timed_out"`
	P50        float64 `json:"p50_ms"` // of requests that were served
	P99        float64 `json:"p99_ms"`
	ProbeP50   float64 `json:"probe_p50_ms"` // of single objects, by another user
	ProbeP99   float64 `json:"probe_p99_ms"`
	ProbeCalls int     `json:"probe_calls"`
	ProbeFails int     `json:"probe_fails"`
	MaxReads   float64 `json:"max_reads"` // reads in flight in the three API servers, the largest sample
	MaxWrites  float64 `json:"max_writes"`
	Late       int64   `json:"late"` // Leases that were not renewed
	Processors parts   `json:"processors"`
}

// loadRequests is the number of requests that all kubelets together have in flight: three for each of 1000.
const loadRequests = 3000

// loadWorkers returns the number of requests of each kubelet.
func (s *site) loadWorkers() int { return (loadRequests + len(s.nodes.all) - 1) / len(s.nodes.all) }

// inflightStage measures pairs of limits: Kubernetes' defaults, those of the profile, and the paper's
// limit of reads with the profile's of writes. Without priority and fairness they are what they were in 2016.
func (s *site) inflightStage(ctx context.Context) ([]inflightRow, error) {
	var rows []inflightRow
	for _, fairness := range []bool{true, false} {
		for _, limits := range [][2]int{{400, 200}, {1500, 500}, {2000, 500}} {
			row, err := s.inflightRow(ctx, limits, fairness)
			if err != nil {
				return rows, err
			}
			rows = append(rows, row)
		}
	}
	return rows, s.useLimits(ctx, [2]int{}, true)
}

// useLimits restarts all API servers with other limits.
func (s *site) useLimits(ctx context.Context, limits [2]int, fairness bool) error {
	c, err := resolve(settings{inflight: limits})
	if err != nil {
		return err
	}
	for i, m := range s.plane.masters {
		m.node = c.Nodes[masterName(i)]
		if !fairness {
			m.node.Args.APIServer = append(m.node.Args.APIServer, "--enable-priority-and-fairness=false")
		}
	}
	for _, m := range s.plane.masters { // one after the other, as a rollout does
		if err := s.plane.restartAPI(m); err != nil {
			return err
		}
		if err := m.awaitAPI(ctx); err != nil {
			return err
		}
	}
	return s.nodes.awaitWatches(ctx, startTime, 0.999)
}

func (s *site) inflightRow(ctx context.Context, limits [2]int, fairness bool) (inflightRow, error) {
	row := inflightRow{Reads: limits[0], Writes: limits[1], Fairness: fairness, Nodes: len(s.nodes.all), Workers: s.loadWorkers() * len(s.nodes.all)}
	if err := s.useLimits(ctx, limits, fairness); err != nil {
		return row, err
	}
	if err := sleep(ctx, s.settle); err != nil {
		return row, err
	}
	before, err := s.processorTime()
	if err != nil {
		return row, err
	}
	counted, began := s.nodes.counters.now(), time.Now()
	loaded, cancel := context.WithTimeout(ctx, s.window)
	defer cancel()
	var l load
	var group sync.WaitGroup
	group.Go(func() { l.run(loaded, s.nodes.all, s.loadWorkers()) })
	group.Go(func() { row.MaxReads, row.MaxWrites = s.sampleInflight(loaded) })
	<-loaded.Done()
	end := time.Now()
	after, err := s.processorTime()
	group.Wait()
	if err != nil {
		return row, err
	}
	row.Seconds = end.Sub(began).Seconds()
	row.Processors, row.Late = after.per(before, row.Seconds), s.nodes.counters.now().since(counted).late
	row.Served, row.Refused, row.Failed, row.TimedOut = float64(len(l.took))/row.Seconds, float64(l.refused)/row.Seconds, l.failed, l.timedOut
	row.P50, row.P99 = milliseconds(l.took, 50), milliseconds(l.took, 99)
	probes, failed := s.prober.between(began, end)
	row.ProbeCalls, row.ProbeFails, row.ProbeP50, row.ProbeP99 = len(probes), failed, milliseconds(probes, 50), milliseconds(probes, 99)
	fmt.Fprintf(s.out, "%+v\n", row)
	return row, s.failed()
}

// sampleInflight returns the largest numbers of requests in flight in all API servers.
func (s *site) sampleInflight(ctx context.Context) (reads, writes float64) {
	const name = "apiserver_current_inflight_requests"
	for sleep(ctx, 5*time.Second) == nil {
		var r, w float64
		for _, m := range s.plane.masters {
			// A sample that fails is left out: the API server is overloaded on purpose.
			if n, err := metric(ctx, m.api, name, `request_kind="readOnly"`); err == nil {
				r += n
			}
			if n, err := metric(ctx, m.api, name, `request_kind="mutating"`); err == nil {
				w += n
			}
		}
		reads, writes = max(reads, r), max(writes, w)
	}
	return reads, writes
}
