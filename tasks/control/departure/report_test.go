package departure

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"deployer/cluster"
	"deployer/tasks/control/kube"
	"deployer/tasks/control/kube/kubetest"
	"deployer/tasks/control/report"
)

func problems(rows []report.Row) string { return report.Table(report.Problems(rows)) }

func require(t *testing.T, name, got string, want ...string) {
	t.Helper()
	if len(want) == 0 && got != "" {
		t.Errorf("%s: unexpected problems:\n%s", name, got)
	}
	for _, text := range want {
		if !strings.Contains(got, text) {
			t.Errorf("%s: %q is missing in:\n%s", name, text, got)
		}
	}
}

func members(down ...string) *cluster.EtcdLive {
	live := &cluster.EtcdLive{ClusterID: 7}
	for i, name := range []string{"m1", "m2", "m3"} {
		healthy := true
		for _, d := range down {
			healthy = healthy && d != name
		}
		live.Members = append(live.Members, cluster.LiveMember{ID: uint64(i + 1), Name: name, PeerURLs: []string{"https://" + name}, Started: true, Healthy: healthy})
	}
	return live
}

func TestMembersThatLeave(t *testing.T) {
	for name, c := range map[string]struct {
		report Report
		down   []string
		want   []string
	}{
		"one of three":                     {Report{Members: []string{"m1"}}, nil, nil},
		"a member while another is down":   {Report{Members: []string{"m1"}}, []string{"m2"}, []string{"etcd quorum", "member m1 must not be removed"}},
		"the member that is down":          {Report{Members: []string{"m2"}, Dead: []string{"m2"}}, []string{"m2"}, nil},
		"a member in --dead that responds": {Report{Members: []string{"m2"}, Dead: []string{"m2"}}, nil, []string{"m2", "its etcd member answers"}},
		"gone already":                     {Report{Members: []string{"m9"}}, nil, nil},
	} {
		require(t, name, problems(c.report.members(cluster.EtcdOwn, members(c.down...))), c.want...)
	}
}

// TestMembersOfEventsThatLeave checks that the quorum of events is judged on its own.
func TestMembersOfEventsThatLeave(t *testing.T) {
	got := problems((&Report{Members: []string{"m1"}}).members(cluster.EtcdEvents, members("m2")))
	require(t, "a member of events while another is down", got, "etcd-events quorum", "member m1 must not be removed")
}

func TestDeadHostsAndUnknownNames(t *testing.T) {
	nodes := map[string]kube.NodeState{"n1": {Name: "n1", Ready: true}, "n2": {Name: "n2"}, "old": {Name: "old"}}
	for name, c := range map[string]struct {
		report Report
		want   []string
	}{
		"a node that is Ready":            {Report{Dead: []string{"n1"}}, []string{"its node is Ready"}},
		"a dead node":                     {Report{Dead: []string{"n2"}}, nil},
		"gone already":                    {Report{Dead: []string{"n3"}}, nil},
		"a node that no inventory has":    {Report{Dead: []string{"old"}, Unknown: []string{"old"}}, nil},
		"a member of etcd without a node": {Report{Dead: []string{"m1"}, Unknown: []string{"m1"}}, nil},
		"a misspelt name":                 {Report{Dead: []string{"odl"}, Unknown: []string{"odl"}}, []string{"neither the inventory, nor a Node object"}},
	} {
		require(t, name, problems(c.report.dead(nodes, members())), c.want...)
	}
	r := Report{Hosts: []string{"n1", "n2"}}
	require(t, "unreachable", problems(r.connections([]string{"m1", "n1"})), "n2", "deployer scale-down --dead n2")
}

// TestPodsThatCannotMove: pods without a controller or with data of their own, and pods
// whose disruption budget can never be met, are problems before anything is changed; a
// budget that is only exhausted now is none.
func TestPodsThatCannotMove(t *testing.T) {
	owner := []any{map[string]any{"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "web", "uid": "1", "controller": true}}
	for name, c := range map[string]struct {
		owners  []any
		volumes []any
		budget  map[string]any
		report  Report
		want    []string
	}{
		"pod with a controller":                {owners: owner},
		"pod without a controller":             {want: []string{"no controller would recreate it"}},
		"pod without a controller, with force": {report: Report{Force: true}},
		"pod with local data":                  {owners: owner, volumes: []any{map[string]any{"name": "d", "emptyDir": map[string]any{}}}, want: []string{"emptyDir"}},
		"an exhausted budget":                  {owners: owner, budget: map[string]any{"currentHealthy": 1, "desiredHealthy": 1, "expectedPods": 2}},
		"an impossible budget":                 {owners: owner, budget: map[string]any{"currentHealthy": 2, "desiredHealthy": 2, "expectedPods": 2}, want: []string{"never allows a disruption"}},
		"the same, overridden":                 {owners: owner, budget: map[string]any{"currentHealthy": 2, "desiredHealthy": 2, "expectedPods": 2}, report: Report{DisableEviction: true}},
	} {
		api := &kubetest.API{}
		server := api.Start(t.Cleanup)
		client, err := kube.New(kube.Options{URL: server.URL, TLS: server.Client().Transport.(*http.Transport).TLSClientConfig})
		if err != nil {
			t.Fatal(err)
		}
		client = client.WithRetryTimeout(time.Second)
		api.Put("/api/v1/nodes/n1", map[string]any{"apiVersion": "v1", "kind": "Node", "metadata": map[string]any{"name": "n1"}})
		api.Put("/api/v1/namespaces/default/pods/web", map[string]any{"apiVersion": "v1", "kind": "Pod",
			"metadata": map[string]any{"name": "web", "namespace": "default", "uid": "u", "labels": map[string]any{"app": "web"}, "ownerReferences": c.owners},
			"spec":     map[string]any{"nodeName": "n1", "volumes": c.volumes}})
		if c.budget != nil {
			c.budget["disruptionsAllowed"] = 0
			api.Put("/apis/policy/v1/namespaces/default/poddisruptionbudgets/web", map[string]any{"apiVersion": "policy/v1", "kind": "PodDisruptionBudget",
				"metadata": map[string]any{"name": "web", "namespace": "default"},
				"spec":     map[string]any{"selector": map[string]any{"matchLabels": map[string]any{"app": "web"}}}, "status": c.budget})
		}
		require(t, name, problems(c.report.pods(t.Context(), client, "n1")), c.want...)
	}
}
