//go:build lab

package lifecycle

import (
	"fmt"
	"path/filepath"
	"strings"
	"time"

	"deployer/test/harness"
)

// bgpSessionsChange switches the nodes from a full mesh to reflectors, to other
// reflectors and back, with a plan and with controllers that are killed, while every
// node sends each pod 20 packets a second. No packet is lost.
func bgpSessionsChange(s *site) {
	good := s.inventory()
	s.startPings()
	s.Edit(func(inv map[string]any) { harness.Section(inv, "cluster", "network")["mesh_below"] = 4 })
	s.Must("install")
	s.requireSessions(map[string]int{"m1": 2, "m2": 2, "m3": 2}, "after the change to reflectors")

	s.Edit(func(inv map[string]any) {
		harness.Section(inv, "cluster", "network")["reflectors"] = []any{"m1", "n2"}
	})
	plan := filepath.Join(s.T.TempDir(), "plan.json")
	s.RequireTexts(s.Must("plan", "install", "-o", plan).Stdout, "/etc/deployer/bird.conf")
	s.Must("apply", plan)
	named := map[string]int{"m1": 5, "m2": 2, "m3": 2, "n1": 2, "n2": 5, "n3": 2}
	s.requireSessions(named, "after the change to other reflectors")
	s.unchanged("after the change to other reflectors")

	s.setInventory(good)
	u := s.StartRun("install")
	u.Until("the first change", changed)
	u.Kill()
	for range changeKills {
		if s.KillAfter(time.Duration(s.suite.random.Int64N(int64(20*time.Second))), "resume") == 0 {
			break // the run ended before
		}
	}
	s.Must("install")
	s.requireSessions(map[string]int{"m1": 5, "m2": 5, "m3": 5, "n1": 5, "n2": 5, "n3": 5}, "back in the full mesh")
	s.stopPings()
	s.unchanged("back in the full mesh")
}

// requireSessions checks how many sessions each node has, all established, and that no
// standby route is left.
func (s *site) requireSessions(want map[string]int, when string) {
	s.T.Helper()
	for node, n := range want {
		s.Eventually(time.Minute, fmt.Sprintf("%s has %d sessions %s", node, n, when), func() error {
			out, err := s.SSH(s.T.Context(), node, "birdc -s /run/bird/bird.ctl show protocols | grep BGP; ip -4 route show proto 215")
			if err != nil {
				return err
			}
			if lines := strings.Count(strings.TrimSpace(out), "\n") + 1; lines != n || strings.Count(out, "Established") != n {
				return fmt.Errorf("%d lines:\n%s", lines, out)
			}
			return nil
		})
	}
}

// startPings makes every node send packets to each pod of the pod network.
func (s *site) startPings() {
	s.T.Helper()
	pods := strings.Fields(s.Kubectl("m1", `get pods -A --no-headers -o custom-columns=IP:.status.podIP,HOST:.spec.hostNetwork | awk '$2 == "<none>" {print $1}'`))
	if len(pods) < len(minions) {
		s.T.Fatalf("the cluster has only the pods %v", pods)
	}
	for _, node := range nodes {
		for _, pod := range pods {
			s.Shell(node, "systemd-run -q --unit ping-"+pod+" sh -c 'exec ping -n -O -i 0.05 "+pod+" > /run/ping-"+pod+".log'")
		}
	}
}

// stopPings checks that each packet was answered.
func (s *site) stopPings() {
	s.T.Helper()
	packets := 0
	for _, node := range nodes {
		s.Shell(node, "systemctl kill -s INT 'ping-*'")
		s.Eventually(10*time.Second, "ping ends on "+node, func() error {
			_, err := s.SSH(s.T.Context(), node, "! pidof ping")
			return err
		})
		packets += strings.Count(s.Shell(node, "cat /run/ping-*.log"), " bytes from ")
		if lost := s.Shell(node, "grep -v ' bytes from ' /run/ping-*.log | grep -e 'no answer' -e Unreachable || true"); lost != "" {
			s.T.Errorf("%s: packets to pods were lost:\n%s", node, lost)
		}
		s.Shell(node, "rm -f /run/ping-*.log")
	}
	if packets < len(nodes)*len(minions)*100 {
		s.T.Errorf("only %d packets were answered", packets)
	}
	s.T.Logf("%d packets were answered", packets)
}
