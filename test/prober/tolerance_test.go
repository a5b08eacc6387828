package prober

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestProblems(t *testing.T) {
	report := func(change func(*Report)) Report {
		var r Report
		for _, kind := range kinds {
			r.Calls = append(r.Calls, Calls{Kind: kind, Client: "n1", Calls: 10, LongestGap: 0.3}, Calls{Kind: kind, Client: "n2", Calls: 10, FailedAttempts: 4, LongestGap: 4.9})
		}
		r.Etcd = Etcd{Members: 3, DownMax: 1}
		change(&r)
		return r
	}
	for _, c := range []struct {
		name      string
		change    func(*Report)
		tolerance Tolerance
		want      []string
	}{
		{"failures that retries cover, and one member down", func(*Report) {}, Tolerance{}, nil},
		{"a failed call", func(r *Report) { r.Calls[0].FailedCalls = 1 }, Tolerance{}, []string{"write: 1 of 20 calls failed although each was tried again for 5s"}},
		{"a failed call from a host that reboots", func(r *Report) { r.Calls[0].FailedCalls = 1 }, Tolerance{Rebooted: []string{"n1"}}, nil},
		{"a long gap", func(r *Report) { r.Calls[3].LongestGap = 5.5 }, Tolerance{}, []string{"read: a gap of 5.50 s on n2, want at most 5s"}},
		{"a longer gap with failed calls, tolerated", func(r *Report) { r.Calls[3].LongestGap, r.Calls[3].FailedCalls = 19, 3 }, Tolerance{Gap: 20 * time.Second}, nil},
		{"a longer gap than tolerated", func(r *Report) { r.Calls[3].LongestGap = 21 }, Tolerance{Gap: 20 * time.Second}, []string{"read: a gap of 21.00 s on n2, want at most 20s"}},
		{"no calls", func(r *Report) { r.Calls = r.Calls[:6] }, Tolerance{}, []string{"service: no call was made"}},
		{"two members down", func(r *Report) { r.Etcd.DownMax = 2 }, Tolerance{}, []string{"2 members of etcd were down at once, at 00:00:00.000: map[]"}},
		{"nodes not Ready", func(r *Report) { r.NotReady = map[string]float64{"n1": 1, "n2": 2, "n3": 3} }, Tolerance{Rebooted: []string{"n1"}, NotReady: []string{"n2"}}, []string{"node n3 was not Ready for 3 s"}},
	} {
		if diff := cmp.Diff(c.want, report(c.change).Problems(c.tolerance)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", c.name, diff)
		}
	}
}
