//go:build lab

package lifecycle

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"deployer/test/harness"
	"deployer/test/prober"
)

// scenario is an operation or failure of a cluster, which runs beside the prober.
type scenario struct {
	name string
	// begin brings the cluster into the state that the scenario begins with; by
	// default it installs the inventory.
	begin func(*site)
	run   func(*site)
	// end reverses begin, without the prober.
	end      func(*site)
	tolerate prober.Tolerance
	// outage is true when the whole cluster is off for a while. Outages that clients
	// notice are printed and stored, and do not fail the scenario.
	outage bool
}

// site is the cluster of the scenarios, for one of them.
type site struct {
	*harness.Site
	suite *suite
}

// suite is the state that scenarios share.
type suite struct {
	site    *site
	full    []byte // the inventory with all masters and minions
	target  prober.Target
	random  *rand.Rand
	results []result
	file    string
}

// result is the stored result of a scenario.
type result struct {
	Scenario string        `json:"scenario"`
	Passed   bool          `json:"passed"`
	Seconds  float64       `json:"seconds"`
	Outage   bool          `json:"outage,omitempty"`
	Ignored  []string      `json:"ignored_clients,omitempty"`
	Report   prober.Report `json:"report"`
}

// Exit codes of deployer.
const (
	partly  = 3 // the run left hosts out
	refused = 4 // nothing was changed
)

// older is the version of Kubernetes of the cluster.
const older = "v1.35.4"

// settle is the time for which the prober runs before and after a scenario.
const settle = 2 * time.Second

func newSuite(t *testing.T, h *harness.Site) *suite {
	t.Helper()
	if *seed == 0 {
		*seed = uint64(time.Now().UnixNano())
	}
	dir := *resultsDir
	if dir == "" {
		made, err := os.MkdirTemp("", "lifecycle-")
		if err != nil {
			t.Fatal(err)
		}
		dir = made
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	s := &suite{random: rand.New(rand.NewPCG(*seed, 0)), file: filepath.Join(dir, "lifecycle.json")}
	s.site = &site{h, s}
	h.Edit(func(inv map[string]any) { harness.Section(inv, "cluster")["kubernetes"] = older })
	full, err := os.ReadFile(h.Inventory)
	if err != nil {
		t.Fatal(err)
	}
	s.full = full
	t.Logf("seed %d (-seed), results in %s", *seed, s.file)
	return s
}

// scenario runs a scenario beside the prober and checks what clients noticed. After a
// failure it installs the full inventory again, for the following scenarios.
func (s *suite) scenario(t *testing.T, sc scenario) {
	on := &site{s.site.On(t), s}
	began := time.Now()
	r := result{Scenario: sc.name, Outage: sc.outage, Ignored: sc.tolerate.Rebooted}
	if sc.begin != nil {
		sc.begin(on)
	} else {
		on.fullCluster()
	}
	p := prober.Start(s.target)
	// The deferred function also runs after a fatal failure, which ends this
	// goroutine.
	defer func() {
		time.Sleep(settle)
		r.Report = p.Stop()
		r.Seconds = time.Since(began).Round(time.Second).Seconds()
		t.Logf("what clients noticed:\n%s", r.Report)
		if problems := r.Report.Problems(sc.tolerate); len(problems) > 0 && !sc.outage {
			t.Errorf("clients noticed:\n%s", strings.Join(problems, "\n"))
		}
		r.Passed = !t.Failed()
		s.results = append(s.results, r)
		s.write(t)
		if t.Failed() {
			on.recover()
		}
		if sc.end != nil {
			sc.end(on)
		}
	}()
	time.Sleep(settle)
	sc.run(on)
}

// recover repairs the cluster after a scenario that failed.
func (s *site) recover() {
	if err := os.WriteFile(s.Inventory, s.suite.full, 0o600); err != nil {
		s.T.Error(err)
		return
	}
	for _, h := range nodes {
		if _, err := s.SSH(s.T.Context(), h, "true"); err != nil {
			s.T.Logf("%s is started again: %v", h, s.Start(s.T.Context(), h))
		}
	}
	o := s.Deployer("install")
	if o.Code == refused { // an upgrade ended between two versions
		s.setVersion(newer)
		o = s.Deployer("upgrade")
	}
	if o.Code != 0 {
		s.T.Errorf("installing again after the scenario failed: exit %d\n%s", o.Code, o.All())
	}
}

// fullCluster installs all masters and minions, unless an earlier scenario has.
func (s *site) fullCluster() {
	s.T.Helper()
	if len(s.suite.target.Clients) == len(minions) {
		return
	}
	if err := os.WriteFile(s.Inventory, s.suite.full, 0o600); err != nil {
		s.T.Fatal(err)
	}
	s.Must("install")
	s.suite.target = s.ProberTarget(minions...)
}

func (s *suite) write(t *testing.T) {
	t.Helper()
	out, err := json.MarshalIndent(s.results, "", "  ")
	if err == nil {
		err = os.WriteFile(s.file, append(out, '\n'), 0o644)
	}
	if err != nil {
		t.Errorf("writing the results: %v", err)
	}
}

// close prints a line for each scenario and the summary line for scripts. Scenarios in
// which the whole cluster was off count as scenarios, not in the figures.
func (s *suite) close() {
	passed, failedWrites, membersDown, gap := 0, 0, 0, 0.0
	var b strings.Builder
	for _, r := range s.results {
		write, read := r.Report.Sum(prober.KindWrite, r.Ignored...), r.Report.Sum(prober.KindRead, r.Ignored...)
		service := r.Report.Sum(prober.KindService, r.Ignored...)
		longest := max(write.LongestGap, read.LongestGap)
		fmt.Fprintf(&b, "%-20s passed=%-5t seconds=%-4.0f api_gap_s=%.2f failed_writes=%d of %d, failed_attempts=%d, service_gap_s=%.2f failed_attempts=%d, members_down=%d, cpu_wait=%.2f\n",
			r.Scenario, r.Passed, r.Seconds, longest, write.FailedCalls, write.Calls, write.FailedAttempts, service.LongestGap, service.FailedAttempts, r.Report.Etcd.DownMax, r.Report.CPUWait)
		if r.Passed {
			passed++
		}
		if !r.Outage {
			failedWrites += write.FailedCalls
			membersDown = max(membersDown, r.Report.Etcd.DownMax)
			gap = max(gap, longest)
		}
	}
	fmt.Fprintf(os.Stdout, "%sresults in %s\nlifecycle scenarios=%d passed=%d api_gap_max_s=%.2f failed_writes=%d members_down_max=%d\n",
		b.String(), s.file, len(s.results), passed, gap, failedWrites, membersDown)
}
