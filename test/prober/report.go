package prober

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// Report has the observations of the clients of a cluster.
type Report struct {
	Started time.Time `json:"started"`
	Seconds float64   `json:"seconds"`
	// CPUWait is the share of the time in which some process of this machine waited
	// for a CPU, from 0 to 1. Where all hosts run on one machine, a high share means
	// that gaps may have another cause than the measured work.
	CPUWait float64 `json:"cpu_wait"`
	Calls   []Calls `json:"calls"` // by kind and client
	Etcd    Etcd    `json:"etcd"`
	// NotReady are the seconds for which nodes were not Ready, by name.
	NotReady map[string]float64 `json:"not_ready"`
}

// Calls are the calls of one kind from one client.
type Calls struct {
	Kind           string      `json:"kind"`
	Client         string      `json:"client"`
	Calls          int         `json:"calls"`
	FailedAttempts int         `json:"failed_attempts"`
	FailedCalls    int         `json:"failed_calls"` // without success within [Retry]
	LongestGap     float64     `json:"longest_gap_s"`
	LongestGapAt   time.Time   `json:"longest_gap_at"`
	Errors         []CallError `json:"errors,omitempty"` // the first ones
}

// CallError is the error of a failed attempt.
type CallError struct {
	At     time.Time `json:"at"`
	Client string    `json:"client"`
	Text   string    `json:"text"`
}

// Etcd has the observations of etcd's members.
type Etcd struct {
	Members   int                `json:"members"`  // the most voting members at one time
	DownMax   int                `json:"down_max"` // the most members down at one time
	DownMaxAt time.Time          `json:"down_max_at"`
	Down      map[string]float64 `json:"down_s"` // seconds by member
}

func (p *Prober) report() Report {
	r := Report{Started: p.started, Seconds: round(time.Since(p.started))}
	if waited, ok := cpuWait(); ok {
		r.CPUWait = float64((waited-p.waited)*100/max(time.Since(p.started), 1)) / 100
	}
	slices.SortStableFunc(p.tallies, byKind)
	for _, t := range p.tallies {
		r.Calls = append(r.Calls, Calls{
			Kind: t.kind, Client: t.client, Calls: t.calls, FailedAttempts: t.failedAttempts, FailedCalls: t.failedCalls,
			LongestGap: round(t.longest), LongestGapAt: t.longestAt, Errors: t.errors,
		})
	}
	if p.etcd != nil {
		r.Etcd = Etcd{Members: p.etcd.members, DownMax: p.etcd.most, DownMaxAt: p.etcd.mostAt, Down: seconds(p.etcd.down)}
	}
	if p.nodes != nil {
		r.NotReady = seconds(p.nodes.notReady)
	}
	return r
}

// Sum adds up the calls of one kind from all clients except those in but: calls and
// failures are added, the gap is the longest.
func (r Report) Sum(kind string, but ...string) Calls {
	sum := Calls{Kind: kind}
	for _, c := range r.Calls {
		if c.Kind != kind || slices.Contains(but, c.Client) {
			continue
		}
		sum.Calls += c.Calls
		sum.FailedAttempts += c.FailedAttempts
		sum.FailedCalls += c.FailedCalls
		sum.Errors = append(sum.Errors, c.Errors...)
		if c.LongestGap > sum.LongestGap {
			sum.LongestGap, sum.LongestGapAt, sum.Client = c.LongestGap, c.LongestGapAt, c.Client
		}
	}
	return sum
}

// String returns one line for each kind of call, and one for etcd and the nodes.
func (r Report) String() string {
	var b strings.Builder
	for _, kind := range kinds {
		s := r.Sum(kind)
		fmt.Fprintf(&b, "%-8s %5d calls, %3d failed; %3d attempts failed; longest gap %.2f s", kind, s.Calls, s.FailedCalls, s.FailedAttempts, s.LongestGap)
		if s.LongestGap > 0 {
			fmt.Fprintf(&b, " (%s, %s)", s.Client, s.LongestGapAt.Format("15:04:05.000"))
		}
		b.WriteByte('\n')
		for _, e := range s.Errors[:min(len(s.Errors), 3)] {
			fmt.Fprintf(&b, "           %s %s: %s\n", e.At.Format("15:04:05.000"), e.Client, strings.TrimSpace(e.Text))
		}
	}
	fmt.Fprintf(&b, "etcd     %d of %d members down at most; down for seconds: %v\nnodes    not Ready for seconds: %v\nmachine  processes waited for a CPU in %.0f %% of %.0f s\n", r.Etcd.DownMax, r.Etcd.Members, r.Etcd.Down, r.NotReady, r.CPUWait*100, r.Seconds)
	return b.String()
}
