package fleet

import (
	"bytes"
	"context"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"deployer/engine"
	"deployer/engine/journal"
	"deployer/engine/session"
	"deployer/engine/view"
)

// faultInjector breaks hosts in the middle of a segment.
type faultInjector struct {
	killed, cut, frozen []string

	mu   sync.Mutex
	done map[string]bool
}

// inject breaks each host once, before the check of its link.
func (tr *faultInjector) inject(_ context.Context, h *Host, module string) {
	if module != "link" {
		return
	}
	tr.mu.Lock()
	again := tr.done[h.Name]
	tr.done[h.Name] = true
	tr.mu.Unlock()
	switch {
	case again:
	case slices.Contains(tr.killed, h.Name):
		h.Stop()
	case slices.Contains(tr.cut, h.Name):
		h.Cut()
	case slices.Contains(tr.frozen, h.Name):
		h.Freeze(true)
	}
}

// TestLostHosts checks that hosts that are dead from the start, die or hang are left out
// and named, that a host that was cut off reconnects, that all others complete, and that
// the next run repairs the lost hosts.
func TestLostHosts(t *testing.T) {
	t.Parallel()
	dead := []string{"n003", "n033", "n058"}
	all := &faultInjector{killed: []string{"n020", "n051"}, cut: []string{"n015", "n044", "n060"}, frozen: []string{"n040"}, done: map[string]bool{}}
	lost := slices.Sorted(slices.Values(slices.Concat(dead, all.killed, all.frozen)))
	tr := newSiteRuns(t, fleetSize, Options{Before: all.inject})
	tr.site.MaxFail = map[string]string{"all": "10%"} // 6 hosts: just enough
	tr.c.JournalDir = memoryDir(t)
	// Only the host that hangs has a short timeout: others may be slow.
	tr.site.ConnectTimeout = map[string]string{"n040": "1s"}
	tr.c.IdleTimeout = map[string]time.Duration{"n040": 2 * time.Second}
	tr.c.Retry = session.Retry{Initial: 20 * time.Millisecond, Max: 100 * time.Millisecond, Attempts: 3, Reattempts: 2}
	for _, name := range dead {
		tr.fleet.Host(name).Stop()
	}

	report, rec := tr.run()
	requirePartial(t, report, lost)
	requireReconnects(t, rec.all(), all.cut)
	requireJournal(t, journal.Path(tr.c.JournalDir, "run-1"), lost)
	tr.trees(lost...)

	for _, name := range slices.Concat(dead, all.killed) {
		if err := tr.fleet.Host(name).Start(); err != nil {
			t.Fatal(err)
		}
	}
	tr.fleet.Host("n040").Freeze(false)
	tr.site.ConnectTimeout, tr.c.IdleTimeout = nil, nil
	report, _ = tr.run()
	if broken := report.Broken(); len(broken) > 0 || report.Aborted != "" {
		t.Errorf("after all are back: %+v, %q", broken, report.Aborted)
	}
	for _, h := range report.Hosts {
		if back := slices.Contains(lost, h.Host); back != (h.Changed > 0) {
			t.Errorf("%s: %d changed", h.Host, h.Changed)
		}
	}
	tr.trees()
	report, _ = tr.run()
	tr.changed(report, noChanges)
}

// requirePartial checks that a run completed without some hosts, and that the report
// and the summary name exactly these.
func requirePartial(t *testing.T, r *engine.Report, lost []string) {
	t.Helper()
	var names []string
	for _, h := range r.Hosts {
		switch {
		case h.Failure == nil && !h.Cancelled && h.Changed > 0:
		case h.Failure != nil && h.Unreachable:
			names = append(names, h.Host)
		default:
			t.Errorf("%s: neither finished nor lost: %+v", h.Host, h)
		}
	}
	if diff := cmp.Diff(lost, names); diff != "" {
		t.Errorf("lost hosts (- want, + got):\n%s", diff)
	}
	if r.Aborted != "" || r.Interrupted {
		t.Errorf("the run is not partly done: %q, %v", r.Aborted, r.Interrupted)
	}
	var text bytes.Buffer
	view.Summary(&text, "site", r, "again")
	if !strings.Contains(text.String(), "site partly done") {
		t.Errorf("the summary does not say that the run is partly done:\n%s", text.String())
	}
	for _, h := range r.Hosts {
		if named := strings.Contains(text.String(), h.Host); named != slices.Contains(lost, h.Host) {
			t.Errorf("the summary names %s: %v\n%s", h.Host, named, text.String())
		}
	}
}

// requireReconnects checks that the controller has reconnected to the hosts that lost
// their connection.
func requireReconnects(t *testing.T, events []engine.Event, hosts []string) {
	t.Helper()
	for _, host := range hosts {
		ups := 0
		for _, e := range events {
			if e.Type == engine.EventHostUp && e.Host == host {
				ups++
			}
		}
		if ups < 2 {
			t.Errorf("%s was cut off and connected to %d times", host, ups)
		}
	}
}

// requireJournal checks that the journal agrees with the report.
func requireJournal(t *testing.T, path string, lost []string) {
	t.Helper()
	rec, err := journal.Read(path)
	if err != nil {
		t.Fatal(err)
	}
	var parked []string
	for host := range rec.Parked {
		parked = append(parked, host)
	}
	slices.Sort(parked)
	if diff := cmp.Diff(lost, parked); diff != "" || rec.Outcome != engine.OutcomePartial {
		t.Errorf("the journal says %s, and lost hosts are (- want, + got):\n%s", rec.Outcome, diff)
	}
}
