package calico

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"deployer/cluster"
	"deployer/engine"
)

// withRouters returns a cluster with routers, one of which only n1 has.
func withRouters(t *testing.T, change func(peers []cluster.BGPPeerSpec)) *cluster.Cluster {
	t.Helper()
	peers := []cluster.BGPPeerSpec{
		{Name: "edge", Address: "10.0.9.1", ASN: 65000, TTLCheck: true, Accept: []string{"198.51.100.0/24"}, AcceptAll: true},
		{Name: "tor-a", Address: "10.0.9.2", ASN: 65010, Password: "hunter2", Nodes: map[string]string{"rack": "a"}},
	}
	if change != nil {
		change(peers)
	}
	hosts := []cluster.Host{
		{Name: "m1", Address: "10.0.0.1", Roles: []string{cluster.RoleMaster}},
		{Name: "n1", Address: "10.0.0.4", Roles: []string{cluster.RoleMinion}, Labels: map[string]string{"rack": "a"}},
	}
	c, err := cluster.Resolve(cluster.Spec{Network: cluster.NetworkSpec{Plugin: cluster.PluginCalico, BGP: cluster.BGPSpec{Peers: peers}}}, hosts)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func mustRouters(t *testing.T, c *cluster.Cluster, passwords map[string]string) routers {
	t.Helper()
	out, err := routersOf(c, passwords)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func names(objects []*unstructured.Unstructured) []string {
	var out []string
	for _, o := range objects {
		out = append(out, o.GetKind()+" "+o.GetName())
	}
	return out
}

func TestRouterObjects(t *testing.T) {
	got := mustRouters(t, withRouters(t, nil), nil)
	if len(got.objects) != 4 {
		t.Fatalf("objects: %v", names(got.objects))
	}
	edge, tor := got.labels["m1"][routerPrefix+"edge"], got.labels["n1"][routerPrefix+"tor-a"]
	if want := map[string]map[string]string{"m1": {routerPrefix + "edge": edge}, "n1": {routerPrefix + "edge": edge, routerPrefix + "tor-a": tor}}; edge == "" || tor == "" || !cmp.Equal(want, got.labels) {
		t.Errorf("labels: %v", got.labels)
	}
	rule := func(action, operator, cidr string) any {
		return map[string]any{"action": action, "matchOperator": operator, "cidr": cidr}
	}
	for i, want := range []map[string]any{
		{"importV4": []any{rule("Reject", "In", "10.244.0.0/16"), rule("Accept", "In", "198.51.100.0/24"), rule("Accept", "Equal", "0.0.0.0/0"), rule("Reject", "In", "0.0.0.0/0")}},
		{"importV4": []any{rule("Reject", "In", "10.244.0.0/16"), rule("Reject", "In", "0.0.0.0/0")}},
		{"peerIP": "10.0.9.1", "asNumber": int64(65000), "ttlSecurity": int64(1), "filters": []any{"deployer-router-edge-" + edge}, "nodeSelector": "router.deployer/edge == '" + edge + "'"},
		{"peerIP": "10.0.9.2", "asNumber": int64(65010), "filters": []any{"deployer-router-tor-a-" + tor}, "nodeSelector": "router.deployer/tor-a == '" + tor + "'",
			"password": map[string]any{"secretKeyRef": map[string]any{"name": passwordSecret, "key": "deployer.tor-a.1"}}},
	} {
		if diff := cmp.Diff(want, got.objects[i].Object["spec"]); diff != "" {
			t.Errorf("%s:\n%s", names(got.objects)[i], diff)
		}
	}
	if want := map[string]string{"deployer.tor-a.1": "hunter2"}; !cmp.Equal(want, got.passwords) {
		t.Errorf("passwords: %v", got.passwords)
	}
}

// TestRouterChanges: a changed setting makes new objects and labels, so that nodes change one by one. The
// former ones are removed when no node has their label.
func TestRouterChanges(t *testing.T) {
	for name, change := range map[string]func([]cluster.BGPPeerSpec){
		"number":   func(p []cluster.BGPPeerSpec) { p[1].ASN = 65011 },
		"address":  func(p []cluster.BGPPeerSpec) { p[1].Address = "10.0.9.3" },
		"password": func(p []cluster.BGPPeerSpec) { p[1].Password = "hunter3" },
		"routes":   func(p []cluster.BGPPeerSpec) { p[1].AcceptAll = true },
	} {
		before := mustRouters(t, withRouters(t, nil), nil)
		after := mustRouters(t, withRouters(t, change), before.passwords)
		if before.labels["n1"][routerPrefix+"tor-a"] == after.labels["n1"][routerPrefix+"tor-a"] {
			t.Errorf("%s: n1 keeps its label", name)
		}
		if diff := cmp.Diff(before.labels["m1"], after.labels["m1"]); diff != "" {
			t.Errorf("%s: m1 changes: %s", name, diff)
		}
		if secret, remove := (&Routers{Stage: stageBegin}).changes(after, before); len(remove) > 0 || secret == nil {
			t.Errorf("%s, begin: the Secret %v, without %v", name, secret, names(remove))
		}
		if _, remove := (&Routers{Stage: stageEnd}).changes(after, before); len(remove) > 0 {
			t.Errorf("%s: removes %v while n1 has the former label", name, names(remove))
		}
		moved := before
		moved.labels = after.labels
		secret, remove := (&Routers{Stage: stageEnd}).changes(after, moved)
		if len(remove) != 2 || !slices.ContainsFunc(names(remove), func(n string) bool { return strings.HasPrefix(n, "BGPPeer deployer-router-tor-a-") }) {
			t.Errorf("%s, end: removes %v", name, names(remove))
		}
		data, _, _ := unstructured.NestedStringMap(secret.Object, "data")
		if len(data) != 1 {
			t.Errorf("%s, end: the Secret has %d passwords", name, len(data))
		}
	}
	none := mustRouters(t, resolved(t), nil)
	if secret, remove := (&Routers{Stage: stageEnd}).changes(none, routers{}); secret != nil || len(remove)+len(none.objects) > 0 {
		t.Errorf("without routers: %v, %v", secret, names(remove))
	}
}

// TestPasswordKeys: a password that the Secret has keeps its key.
func TestPasswordKeys(t *testing.T) {
	have := map[string]string{"deployer.tor-a.1": "old", "deployer.tor-a.3": "hunter2", "tor-a": "of the user"}
	for password, want := range map[string]string{"hunter2": "deployer.tor-a.3", "new": "deployer.tor-a.4"} {
		if got := passwordKey(cluster.BGPPeerSpec{Name: "tor-a", Password: password}, have); got != want {
			t.Errorf("%s: key %s, want %s", password, got, want)
		}
	}
	secret := secretOf(map[string]string{"deployer.tor-a.1": "old", "mine": "x"})
	if got, err := ownPasswords(secret); err != nil || !cmp.Equal(got, map[string]string{"deployer.tor-a.1": "old"}) {
		t.Errorf("own passwords: %v, %v", got, err)
	}
}

func TestLabelsOfRouters(t *testing.T) {
	node := resolved(t).Nodes["n1"]
	labels := map[string]string{routerPrefix + "a": "1", routerPrefix + "b": "1", "other": "x"}
	want := map[string]any{"metadata": map[string]any{"labels": map[string]any{routerPrefix + "a": "2", routerPrefix + "b": nil}}}
	if diff := cmp.Diff(want, nodePatch(nil, labels, node, nil, nil, nil, map[string]string{routerPrefix + "a": "2"})); diff != "" {
		t.Error(diff)
	}
	if got := nodePatch(nil, labels, node, nil, nil, nil, nil); got != nil {
		t.Errorf("routers that nobody asks for: %v", got)
	}
}

// TestAnnouncedServices: ranges that the inventory does not announce are left to the user.
func TestAnnouncedServices(t *testing.T) {
	c := resolved(t)
	if diff := cmp.Diff(map[string]any{"asNumber": int64(64512), "nodeToNodeMeshEnabled": true, "logSeverityScreen": "Info"}, bgpConfiguration(c.Network, true, sessionSettings{}).Object["spec"]); diff != "" {
		t.Error(diff)
	}
	c.Network.Advertise = cluster.Advertised{ClusterIPs: []string{"10.96.0.0/16"}, LoadBalancerIPs: []string{"203.0.113.0/24"}}
	spec := bgpConfiguration(c.Network, true, sessionSettings{}).Object["spec"].(map[string]any)
	if diff := cmp.Diff([]any{map[string]any{"cidr": "10.96.0.0/16"}}, spec["serviceClusterIPs"]); diff != "" || spec["serviceExternalIPs"] != nil || spec["serviceLoadBalancerIPs"] == nil {
		t.Errorf("%v", spec)
	}
}

// TestRoutersInDatastores takes the steps of role calico-routers: objects, labels of nodes, and their end.
func TestRoutersInDatastores(t *testing.T) {
	for _, datastore := range datastores {
		t.Run(datastore, func(t *testing.T) {
			c := withRouters(t, nil)
			other := resolvedWith(t, datastore)
			c.EtcdCalico = other.EtcdCalico
			api := newFakeAPI(t, c, "m1", "n1")
			api.Put("/api/v1/namespaces/kube-system", map[string]any{"apiVersion": "v1", "kind": "Namespace", "metadata": map[string]any{"name": "kube-system"}})
			api.putNode("m1", "10.244.0.0/24", nil)
			api.putNode("n1", "10.244.1.0/24", nil)
			api.actx.Check = true
			if change, err := (&Routers{Stage: stageBegin}).Check(t.Context(), api.actx); err != nil || len(change.Effects) != 5 {
				t.Errorf("a dry run before Calico is installed: %v, %v", change.Effects, err)
			}
			api.actx.Check = false
			api.put(bgpConfiguration(c.Network, true, sessionSettings{}))
			effects, out := api.run(t, &Routers{Stage: stageBegin})
			if len(effects) != 5 {
				t.Errorf("effects %q", effects)
			}
			secret := "/api/v1/namespaces/kube-system/secrets/" + passwordSecret
			if api.Object(secret) == nil {
				t.Error("the API has no passwords")
			}
			routers := map[string]string{}
			for key, version := range out["labels"].(map[string]any)["n1"].(map[string]any) {
				routers[key] = version.(string)
			}
			api.actx.Name = "n1"
			api.run(t, &Node{Routers: routers})
			if got := api.labels("n1"); len(got) != 2 || len(routers) != 2 {
				t.Errorf("labels of n1: %v", got)
			}
			_, out = api.run(t, &Routers{Stage: stageEnd})
			if diff := cmp.Diff(out["labels"].(map[string]any)["n1"], out["present"].(map[string]any)["n1"]); diff != "" {
				t.Error(diff)
			}
			engine.Provide(api.actx.Provided, other)
			api.run(t, &Node{Routers: map[string]string{}})
			api.run(t, &Routers{Stage: stageEnd})
			if got := api.labels("n1"); len(got) > 0 {
				t.Errorf("labels of n1 without routers: %v", got)
			}
			for _, o := range mustRouters(t, c, nil).objects {
				if api.object(o.GetKind(), o.GetName()) != nil {
					t.Errorf("%s stays", o.GetName())
				}
			}
			if effects, _ := api.run(t, &Routers{Stage: stageEnd}); effects != nil {
				t.Errorf("again: %q", effects)
			}
		})
	}
}
