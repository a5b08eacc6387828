//go:build lab

package mistakes

import (
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"deployer/test/harness"
	"deployer/test/lab/plan"
	"deployer/test/prober"
)

// Exit codes of deployer.
const (
	refused  = 4 // nothing was changed
	problems = 5 // verify and status
)

// nodes are the hosts of the cluster.
var nodes = []string{"m1", "m2", "m3", "n1", "n2"}

// end is how a scenario ends.
type end int

const (
	isRefused end = iota // deployer changes nothing and says why
	isHealed             // the cluster is as its inventory says, by itself or by one command
	isNamed              // a person must act, and is told what to do
)

// scenario is a mistake. Clients use the cluster while it runs. It leaves the cluster as the
// inventory says.
type scenario struct {
	name     string
	end      end
	run      func(*site)
	tolerate prober.Tolerance
}

// scenarios can be run alone: -run 'TestMistakes/NAME'. Those of short come also with -short.
var scenarios = []scenario{
	{name: "lost_host", end: isRefused, run: lostHost},
	{name: "lost_masters", end: isRefused, run: lostMasters},
	{name: "swapped_addresses", end: isRefused, run: swappedAddresses},
	{name: "service_range", end: isRefused, run: serviceRange},
	{name: "pod_range", end: isRefused, run: podRange},
	{name: "domain", end: isRefused, run: domain},
	{name: "pod_network", end: isRefused, run: podNetwork},
	{name: "too_many_pods", end: isRefused, run: tooManyPods},
	{name: "flushed_rules", end: isHealed, run: flushedRules, tolerate: prober.Tolerance{PodGap: 45 * time.Second}},
	{name: "deleted_certificates", end: isHealed, run: deletedCertificates, tolerate: prober.Tolerance{NotReady: []string{"m2"}}},
	{name: "copied_manifest", end: isRefused, run: copiedManifest},
	{name: "foreign_network_file", end: isNamed, run: foreignNetworkFile},
	{name: "resolver_stub", end: isHealed, run: resolverStub},
	{name: "dead_api_service", end: isNamed, run: deadAPIService},
	{name: "refusing_webhook", end: isNamed, run: refusingWebhook},
	{name: "conversion_webhook", end: isNamed, run: conversionWebhook},
	{name: "dropped_packets", end: isNamed, run: droppedPackets},
	{name: "later_setting", end: isNamed, run: laterSetting},
	{name: "blocked_pods", end: isNamed, run: blockedPods},
	{name: "reserved_name", end: isNamed, run: reservedName},
}

// short are the scenarios of make e2e, which has no time for all.
var short = map[string]bool{"lost_host": true, "flushed_rules": true, "deleted_certificates": true}

// site is the cluster of the scenarios.
type site struct {
	*harness.Site
	clients *prober.Prober // during a scenario
}

func TestMain(m *testing.M) {
	harness.SweepLabs()
	os.Exit(m.Run())
}

// TestMistakes runs the scenarios on three masters and two minions, with clients on the minions.
func TestMistakes(t *testing.T) {
	s := &site{Site: harness.New(t, "mistakes", plan.Spec{Masters: 3, Minions: 2})}
	s.Must("install")
	inventory, err := os.ReadFile(s.Inventory)
	if err != nil {
		t.Fatal(err)
	}
	target := s.ProberTarget("n1", "n2")
	ended, count, failedWrites := map[end]int{}, 0, 0
	for _, sc := range scenarios {
		if testing.Short() && !short[sc.name] {
			continue
		}
		ran := false // otherwise -run selects others
		passed := t.Run(sc.name, func(t *testing.T) {
			ran = true
			count++
			p := prober.Start(target)
			on := &site{Site: s.On(t), clients: p}
			defer func() {
				time.Sleep(2 * time.Second)
				r := p.Stop()
				failedWrites += r.Sum(prober.KindWrite).FailedCalls
				t.Logf("what clients noticed:\n%s", r)
				if found := r.Problems(sc.tolerate); len(found) > 0 {
					t.Errorf("clients noticed:\n%s", strings.Join(found, "\n"))
				}
				on.restore(inventory)
			}()
			sc.run(on)
		})
		if ran && passed {
			ended[sc.end]++
		}
	}
	fmt.Printf("mistakes scenarios=%d passed=%d refused=%d healed=%d named=%d failed_writes=%d\n",
		count, ended[isRefused]+ended[isHealed]+ended[isNamed], ended[isRefused], ended[isHealed], ended[isNamed], failedWrites)
}

// restore writes the inventory of the cluster again; after a failure it installs it, for the
// scenarios that follow.
func (s *site) restore(inventory []byte) {
	if err := os.WriteFile(s.Inventory, inventory, 0o600); err != nil {
		s.T.Error(err)
	}
	if s.T.Failed() {
		if o := s.Deployer("install"); o.Code != 0 {
			s.T.Errorf("installing again: exit %d\n%s", o.Code, o.All())
		}
	}
}
