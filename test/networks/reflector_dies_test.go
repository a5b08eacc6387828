//go:build lab

package networks

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"deployer/test/harness"
	"deployer/test/lab/plan"
)

// TestReflectorDies cuts the power of one of two route reflectors until the sessions of all other nodes with it
// have ended, and gives it back. Pods of the other nodes ping each other all the time: nothing is lost.
func TestReflectorDies(t *testing.T) {
	// A session ends when its hold time is over, or when the host has no neighbour any more.
	for plugin, hold := range map[string]time.Duration{
		"bgp":    90 * time.Second,
		"calico": 240 * time.Second, // the default of BIRD 1.6, which Calico does not change
	} {
		t.Run(plugin, func(t *testing.T) { reflectorDies(t, plugin, hold) })
	}
}

func reflectorDies(t *testing.T, plugin string, hold time.Duration) {
	scenario(t)
	s := harness.New(t, "networks", plan.Spec{Masters: 1, Minions: 3})
	s.Edit(func(inv map[string]any) {
		network := harness.Section(inv, "cluster", "network")
		network["plugin"], network["reflectors"] = plugin, []any{"n1", "n2"}
	})
	s.Must("install")
	startPods(s)
	others := []string{"m1", "n1", "n3"}
	requireNetwork(s, "n3 2 of 2 3 of 3", "4 nodes, no problems")
	pings := startMesh(s, others)
	pings.require(t, "before")

	if err := s.Kill(t.Context(), "n2"); err != nil {
		t.Fatal(err)
	}
	dead := time.Now()
	address := s.Address("n2")
	s.Eventually(hold+30*time.Second, "all sessions with the dead reflector have ended", func() error {
		for _, node := range others {
			if out := s.Shell(node, "ss -Htn state established dst "+address+" '( dport = :179 or sport = :179 )'"); out != "" {
				return fmt.Errorf("%s has a session: %s", node, out)
			}
		}
		return nil
	})
	ended := time.Since(dead)
	time.Sleep(5 * time.Second)
	pings.require(t, "without a reflector")
	routes := s.Shell("n3", "ip -4 route show proto bird")
	if strings.Count(routes, " via ") < 2 {
		t.Errorf("n3 has the routes %q, want those to the pods of m1 and n1", routes)
	}

	if err := s.Start(t.Context(), "n2"); err != nil {
		t.Fatal(err)
	}
	s.Eventually(4*time.Minute, "the reflector is back", func() error {
		if out := s.Deployer("network", "status"); !strings.Contains(out.Stdout, "4 nodes, no problems") {
			return errors.New(out.All())
		}
		return nil
	})
	requireNetwork(s, "n3 2 of 2 3 of 3")
	pings.require(t, "with the reflector again")
	pods := podsOf(s)
	for _, node := range others {
		s.Shell(node, inPod("ping -c 3 -i 0.2 -W 2 "+pods["n2"]))
	}
	sent, lost := pings.end(t)
	total.pinged(sent, lost)
	t.Logf("plugin %s: the sessions with the dead reflector ended after %.0f s; pings=%d lost=%d", plugin, ended.Seconds(), sent, lost)
	if lost > 0 || sent < 1000 {
		t.Errorf("%d of %d pings were lost, want none of at least 1000", lost, sent)
	}
	if err := errors.Join(pings.errors...); err != nil {
		t.Error(err)
	}
}
