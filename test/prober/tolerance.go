package prober

import (
	"cmp"
	"fmt"
	"slices"
	"time"
)

// Tolerance has the exceptions from the rule, which is: no call fails, no gap is
// longer than [Retry], at most one member of etcd is down at a time, and all nodes
// are Ready all the time.
type Tolerance struct {
	// Gap is the maximum length of a gap, by default [Retry]. Calls may fail within a longer one.
	Gap time.Duration
	// PodGap is Gap for DNS and the Service, for scenarios in which a node with one
	// of their pods loses its power: until Kubernetes notices, after 50 s
	// (--node-monitor-grace-period), the Service still has that pod.
	PodGap   time.Duration
	Rebooted []string // hosts that reboot: their calls and their readiness do not count
	NotReady []string // nodes that may be not Ready for a while
}

// Problems returns a line for each violation of the rule that t does not allow.
func (r Report) Problems(t Tolerance) (all []string) {
	problem := func(format string, args ...any) { all = append(all, fmt.Sprintf(format, args...)) }
	for _, kind := range kinds {
		gap := cmp.Or(t.Gap, Retry)
		if kind == KindDNS || kind == KindService {
			gap = cmp.Or(t.PodGap, gap)
		}
		sum := r.Sum(kind, t.Rebooted...)
		if sum.Calls == 0 {
			problem("%s: no call was made", kind)
		}
		if sum.FailedCalls > 0 && gap <= Retry {
			problem("%s: %d of %d calls failed although each was tried again for %s", kind, sum.FailedCalls, sum.Calls, Retry)
		}
		if sum.LongestGap > gap.Seconds() {
			problem("%s: a gap of %.2f s on %s, want at most %s", kind, sum.LongestGap, sum.Client, gap)
		}
	}
	if r.Etcd.DownMax > 1 {
		problem("%d members of etcd were down at once, at %s: %v", r.Etcd.DownMax, r.Etcd.DownMaxAt.Format("15:04:05.000"), r.Etcd.Down)
	}
	for node, seconds := range r.NotReady {
		if !slices.Contains(t.Rebooted, node) && !slices.Contains(t.NotReady, node) {
			problem("node %s was not Ready for %.0f s", node, seconds)
		}
	}
	slices.Sort(all)
	return all
}
