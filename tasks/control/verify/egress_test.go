package verify

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"deployer/cluster"
	"deployer/engine"
	"deployer/tasks/checkresult"
	"deployer/tasks/control/actiontest"
	"deployer/tasks/control/report"
	"deployer/tasks/effects"
)

// TestNodesAreCheckedWhileProbesRun: each node with a probe is checked from the host, too, as long
// as its pod is there.
func TestNodesAreCheckedWhileProbesRun(t *testing.T) {
	w := newFakeCluster(t, "n1", "n2", "n3")
	w.broken["n2"] = map[string]any{"phase": "Failed"}
	var mu sync.Mutex
	var missing []string
	o := options()
	o.OnNode = func(_ context.Context, node string) []report.Row {
		mu.Lock()
		defer mu.Unlock()
		if !slices.ContainsFunc(w.namespaces(), func(path string) bool { return strings.HasSuffix(path, "/probe-"+node) }) {
			missing = append(missing, node)
		}
		return []report.Row{report.Bad(effects.CheckEgress, node, "stopped")}
	}
	var got []string
	for _, r := range report.Problems(Pods(t.Context(), w.client, o)) {
		if r.Check == effects.CheckEgress {
			got = append(got, r.Host)
		}
	}
	slices.Sort(got)
	if diff := cmp.Diff([]string{"n1", "n3"}, got); diff != "" || len(missing) > 0 {
		t.Errorf("checked nodes (-want +got):\n%swithout a pod: %q", diff, missing)
	}
}

// TestEgressOfANode: the action asks the node, with the servers that its pods must reach.
func TestEgressOfANode(t *testing.T) {
	c, err := cluster.Resolve(cluster.Spec{}, []cluster.Host{
		{Name: "m1", Address: "192.0.2.1", Roles: []string{cluster.RoleMaster}},
		{Name: "n1", Address: "192.0.2.2", Roles: []string{cluster.RoleMinion}},
	})
	if err != nil {
		t.Fatal(err)
	}
	actx := &actiontest.Context{RunFunc: func(_ context.Context, host, module string, args engine.Module) (engine.Result, error) {
		if host != "n1" {
			return engine.Result{}, errors.New("unreachable")
		}
		want := &effects.Checks{CNI: "10-deployer.conflist", Rules: true, Families: []string{"ipv4"}, Outside: []string{"192.0.2.1:6443"}, PodRange: "10.244.0.0/16"}
		if diff := cmp.Diff(fmt.Sprint("effects_check ", *want), fmt.Sprint(module, " ", *args.(*effects.Checks))); diff != "" {
			t.Error(diff)
		}
		return engine.Result{Output: checkresult.Output([]checkresult.Row{checkresult.OK("loaded").Named(effects.CheckRules), checkresult.Problem("fix", "stopped").Named(effects.CheckEgress)})}, nil
	}}
	if diff := cmp.Diff([]report.Row{{Check: effects.CheckEgress, Host: "n1", Detail: "stopped", Fix: "fix"}}, egress(t.Context(), actx, c, "n1")); diff != "" {
		t.Error(diff)
	}
	if rows := egress(t.Context(), actx, c, "m1"); len(rows) > 0 {
		t.Errorf("rows of an unreachable node: %v", rows)
	}
}
