//go:build lab

package e2e

import (
	"path/filepath"
	"strings"
	"time"

	"github.com/google/go-cmp/cmp"

	"deployer/test/harness"
	"deployer/test/prober"
)

// masters of TestCluster.
var masters = []string{"m1", "m2", "m3"}

// changeOneValue changes one argument of the API server with a plan, and reverts it: one
// file on each master, one master after the other, while clients use the
// cluster.
func changeOneValue(s *site) {
	before := s.manifests()
	s.Edit(func(inv map[string]any) {
		harness.Section(inv, "cluster", "overrides", "apiserver", "extra_args")["event-ttl"] = "2h"
	})
	file := filepath.Join(s.T.TempDir(), "plan.json")
	o := s.Must("plan", "install", "-o", file)
	// The manifests differ in the order of the members of etcd, the own one first.
	s.RequireTexts(o.Stdout, "m[1:3] (3 hosts): 1 file\n", "(as on m1; each host has its own)", "--event-ttl=2h",
		"3 of 5 hosts would change: 3 files\n", "at most 1 host at a time, 3 turns")
	if n := strings.Count(o.Stdout, "file /etc/kubernetes/manifests/kube-apiserver.yaml: replace"); n != 1 {
		s.T.Errorf("the plan has the API server's manifest %d times, want once for all masters:\n%s", n, o.Stdout)
	}
	clients := s.ProberTarget("n1", "n2")
	// The machines of CI are slow. make e2e-lifecycle has stricter limits.
	patience := prober.Tolerance{Gap: 20 * time.Second}
	s.WhileProbing(clients, patience, func() {
		events, r := s.Events(s.Must("apply", file, "--output", "json"))
		s.mastersOneByOne(events, r)
	})
	s.argument("--event-ttl=2h")
	s.WhileProbing(clients, patience, func() {
		events, r := s.Events(s.Must("revert", s.LastRun().Run, "--yes", "--output", "json"))
		s.mastersOneByOne(events, r)
	})
	s.argument("")
	if diff := cmp.Diff(before, s.manifests()); diff != "" {
		s.T.Errorf("manifests (- before the change, + after it was reverted):\n%s", diff)
	}
	s.Edit(func(inv map[string]any) {
		delete(harness.Section(inv, "cluster", "overrides", "apiserver", "extra_args"), "event-ttl")
	})
	s.RequireTexts(s.Must("plan", "install").Stdout, "nothing to do")
}

// manifests returns the static pod manifests that the kubelets of the masters run.
func (s *site) manifests() map[string]string {
	s.T.Helper()
	out := map[string]string{}
	for _, m := range masters {
		out[m] = s.Shell(m, "cd /etc/kubernetes/manifests && sha256sum * && stat -c '%n %a %U:%G' *")
	}
	return out
}

// argument checks the argument of the running API servers.
func (s *site) argument(want string) {
	s.T.Helper()
	for _, m := range masters {
		if got := s.Shell(m, "tr '\\0' '\\n' < /proc/$(pidof kube-apiserver)/cmdline | grep event-ttl || true"); got != want {
			s.T.Errorf("%s: the running API server has %q, want %q", m, got, want)
		}
	}
}

// mastersOneByOne checks that only one file has changed on each master, and that the gate
// of each master was between its change and the change of the next.
func (s *site) mastersOneByOne(events []map[string]any, r harness.Report) {
	s.T.Helper()
	changed := map[string]int{}
	for _, h := range r.Hosts {
		if h.Changed > 0 {
			changed[h.Host] = h.Changed
		}
	}
	if diff := cmp.Diff(map[string]int{"m1": 1, "m2": 1, "m3": 1}, changed); diff != "" {
		s.T.Errorf("changed steps by host (-want +got):\n%s", diff)
	}
	inside, gates := "", 0
	for _, e := range events {
		host, _ := e["host"].(string)
		result, _ := e["result"].(map[string]any)
		switch {
		case e["type"] != "step.end" || result == nil:
		case result["status"] == "changed":
			if inside != "" && inside != host {
				s.T.Errorf("%s was changed before %s had passed its gate", host, inside)
			}
			inside = host
		case e["name"] == "the API server is ready" && host == inside:
			inside = ""
			gates++
		}
	}
	if gates != len(masters) {
		s.T.Errorf("%d masters passed their gate after their change, want %d", gates, len(masters))
	}
}
