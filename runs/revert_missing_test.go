package runs

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"deployer/cluster"
	"deployer/engine"
	"deployer/engine/journal"
	"deployer/engine/program"
	"deployer/engine/revert"
	"deployer/inventory"
	"deployer/project"
	"deployer/runs/history"
)

// newRollback returns the rollback of an upgrade of masters m1 to m3, which run etcd, and of
// minions n1 to n4, with the preview of hosts of which some are down. The upgrade has ended
// and changed m1, m3, n1 and n4; restarts are hosts whose etcd it has changed.
func newRollback(down, restarts []string, maxFail string) (*Revert, *RevertPreview) {
	masters, minions := []string{"m1", "m2", "m3"}, []string{"n1", "n2", "n3", "n4"}
	hosts := slices.Concat(masters, minions)
	c := &cluster.Cluster{Order: hosts, Masters: masters, Minions: minions, Nodes: map[string]cluster.Node{}}
	for _, h := range hosts {
		c.Nodes[h] = cluster.Node{Name: h, IsNode: true, IsMaster: h[0] == 'm', IsEtcd: h[0] == 'm'}
	}
	p := &project.Project{Cluster: c, Hosts: hosts, Inventory: &inventory.Inventory{}}
	changed := map[string][]changedStep{}
	for _, h := range []string{"m1", "m3", "n1", "n4"} {
		changed[h] = []changedStep{{step: "1"}}
	}
	back := &Revert{ID: "r1", Invocation: journal.Invocation{Verb: journal.VerbUpgrade}, Entry: &history.Entry{Record: &journal.Record{Report: &engine.Report{}}},
		log:   &runLog{hosts: map[string]bool{"m1": true}, changed: changed},
		query: &Run{Project: p, Hosts: hosts, Program: &program.Program{}, Options: Options{Invocation: journal.Invocation{Extra: map[string]any{"upgrade_max_fail": maxFail}}}}}
	preview := &RevertPreview{Report: &engine.Report{}, History: map[string]engine.RunHistory{}, hosts: hosts, inverse: &revert.Inverted{Program: &program.Program{}, Everyone: true}}
	for _, h := range hosts {
		r := engine.HostReport{Host: h}
		if slices.Contains(down, h) {
			r.Unreachable, r.Failure = true, &engine.Failure{Message: "no route to host"}
		} else if len(changed[h]) > 0 {
			preview.History[h] = engine.RunHistory{Known: true, Items: []engine.ChangeRecord{{Kind: "file", Name: "/etc/kubernetes/kubelet.yaml", State: engine.RevertRestore}}}
		}
		if slices.Contains(restarts, h) {
			preview.History[h] = engine.RunHistory{Known: true, Items: []engine.ChangeRecord{{Kind: "file", Name: "/usr/local/bin/etcd", State: engine.RevertRestore}}}
		}
		preview.Report.Hosts = append(preview.Report.Hosts, r)
	}
	preview.unsafe = back.refuseWithout(preview)
	return back, preview
}

// TestRollbackWithoutDeadHosts checks that a rollback continues without hosts that
// are down: they are missing in it and do not count as lost, and the report has those
// that the upgrade has changed.
func TestRollbackWithoutDeadHosts(t *testing.T) {
	for name, c := range map[string]struct {
		down    []string
		maxFail string
		hosts   string
		missing int
		minions int // that may fail in the rollback
	}{
		"all answer":                        {nil, "0", "m1 m2 m3 n1 n2 n3 n4", 0, 0},
		"a changed master":                  {[]string{"m1"}, "0", "m1 m2 m3 n1 n2 n3 n4", 1, 0},
		"a changed minion, and --max-fail":  {[]string{"n4"}, "2", "m1 m2 m3 n1 n2 n3 n4", 1, 2},
		"hosts that the upgrade has spared": {[]string{"m2", "n2"}, "0", "m1 m3 n1 n3 n4", 2, 0},
	} {
		back, preview := newRollback(c.down, nil, c.maxFail)
		r, err := back.Run(preview)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if got := strings.Join(r.Hosts, " "); got != c.hosts || len(r.missing) != c.missing {
			t.Errorf("%s: hosts %s, missing %v", name, got, r.missing)
		}
		budget := r.failureBudget()
		if _, masters := budget["master"]; masters || budget["minion"].Of(4) != c.minions {
			t.Errorf("%s: budget %v", name, budget)
		}
		for host, text := range r.missing {
			if !strings.Contains(text, "no route to host; when it answers again: deployer rollback r1") {
				t.Errorf("%s: %s: %s", name, host, text)
			}
		}
	}
	back, preview := newRollback([]string{"n2"}, nil, "0")
	back.Entry.Report = nil
	if r, err := back.Run(preview); err != nil || !slices.Contains(r.Hosts, "n2") {
		t.Errorf("a killed upgrade may have changed n2: %v, %v", r.Hosts, err)
	}
}

// TestRollbackKeepsQuorum checks when dead hosts prevent the rollback of a cluster.
func TestRollbackKeepsQuorum(t *testing.T) {
	for name, c := range map[string]struct {
		down, restarts []string
		refused        string
	}{
		"one member is down, etcd is not restarted": {[]string{"m1"}, nil, ""},
		"one member is down, etcd is restarted":     {[]string{"m1"}, []string{"m2", "m3"}, "etcd of m2, m3 would be restarted, and while m1 does not answer, 1 of 3 members would serve"},
		"two members are down":                      {[]string{"m1", "m2"}, nil, "etcd has no quorum: m1, m2 of its 3 members do not answer"},
		"minions are down, etcd is restarted":       {[]string{"n1", "n2"}, []string{"m1", "m2", "m3"}, ""},
	} {
		back, preview := newRollback(c.down, c.restarts, "0")
		_, err := back.Run(preview)
		var refused *RefusedError
		if c.refused == "" && err != nil || c.refused != "" && (!errors.As(err, &refused) || !strings.Contains(fmt.Sprint(err), c.refused)) {
			t.Errorf("%s: %v", name, err)
		}
	}
	five := &cluster.Cluster{Masters: []string{"m1"}, Nodes: map[string]cluster.Node{"m1": {IsMaster: true}}, Order: []string{"m1", "e1", "e2", "e3", "e4", "e5"}}
	for _, h := range five.Order[1:] {
		five.Nodes[h] = cluster.Node{IsEtcd: true}
	}
	if text := withoutHosts(five, map[string]string{"e1": ""}, five.Order[2:]); text != "" {
		t.Errorf("one of five members is down: %s", text)
	}
	if text := withoutHosts(five, map[string]string{"m1": ""}, nil); !strings.Contains(text, "no master answers (m1)") {
		t.Errorf("the only master is down: %q", text)
	}
}
