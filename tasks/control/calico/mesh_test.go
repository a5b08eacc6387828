package calico

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"deployer/cluster"
	"deployer/engine"
	"deployer/tasks/control/keyring"
)

// passwordCluster is a mesh of m1 and n1 without a password, whose masters have one.
func passwordCluster(t *testing.T, datastore, authentication string) (*fakeAPI, string) {
	t.Helper()
	c := resolvedWith(t, datastore)
	c.Network.Authentication = authentication
	api := newFakeAPI(t, c, "m1", "n1")
	api.Put("/api/v1/namespaces/kube-system", map[string]any{"apiVersion": "v1", "kind": "Namespace", "metadata": map[string]any{"name": "kube-system"}})
	api.putNode("m1", "10.244.0.0/24", nil)
	api.putNode("n1", "10.244.1.0/24", nil)
	api.put(bgpConfiguration(c.Network, true, sessionSettings{restartTime: restartTime}))
	ring, _ := engine.Service[*keyring.Keyring](api.actx.Provided)
	keys, err := ring.Keys()
	if err != nil || keys.BGPPassword() == "" {
		t.Fatalf("the masters have no password: %v", err)
	}
	return api, keys.BGPPassword()
}

// keys returns the keys of the passwords of the mesh and of the canary, and those of the Secret.
func (a *fakeAPI) keys() string {
	of := func(kind, name string) string {
		if o := a.object(kind, name); o != nil {
			return settingsOf(&unstructured.Unstructured{Object: o}).passwordKey
		}
		return "absent"
	}
	data, _, _ := unstructured.NestedMap(a.Object("/api/v1/namespaces/kube-system/secrets/"+passwordSecret), "data")
	return fmt.Sprintf("%q %q %d", of("BGPConfiguration", "default"), of("BGPPeer", cluster.PeerCanary), len(data))
}

// TestPasswordOfAMesh takes the steps of role calico-bgp: one node has its sessions with the password first.
func TestPasswordOfAMesh(t *testing.T) {
	for _, datastore := range datastores {
		t.Run(datastore, func(t *testing.T) { passwordOfAMesh(t, datastore) })
	}
}

func passwordOfAMesh(t *testing.T, datastore string) {
	api, password := passwordCluster(t, datastore, cluster.AuthenticationMD5)
	yes, no, key := true, false, nodePasswords+"1"
	_, out := api.run(t, &Sessions{})
	canary := out["canary"].(engine.Output)
	if out["restarts"] != true || out["begun"] != false || canary["node"] != "n1" || canary["reflector"] != true || canary["former_reflector"] != false {
		t.Errorf("%v", out)
	}
	if diff := cmp.Diff([]any{"Node_10_0_0_1"}, canary["sessions"]); diff != "" {
		t.Error(diff)
	}
	effects, _ := api.run(t, &Mesh{Stage: stageCanary})
	if diff := cmp.Diff([]string{"BGPPeer deployer-canary: create", "Secret kube-system/calico-bgp-passwords: create"}, effects); diff != "" {
		t.Error(diff)
	}
	if got, want := api.keys(), fmt.Sprintf("%q %q 1", "", key); got != want {
		t.Errorf("of the canary: %s, want %s", got, want)
	}
	if _, err := (&Mesh{Stage: stageSettings, Canary: "n1"}).Check(t.Context(), api.actx); err == nil || !strings.Contains(err.Error(), "node n1 did not get its sessions") {
		t.Errorf("without a proof: %v", err)
	}
	api.actx.Name = "n1"
	api.run(t, &Node{Canary: true, Reflector: &yes})
	if _, out := api.run(t, &Sessions{}); out["needed"] != true || out["canary"].(engine.Output)["leftover"] != true {
		t.Errorf("after a run that was killed: %v", out)
	}
	api.run(t, &Mesh{Stage: stageSettings, Canary: "n1"})
	if got, want := api.keys(), fmt.Sprintf("%q %q 1", key, key); got != want {
		t.Errorf("of all sessions: %s, want %s", got, want)
	}
	api.run(t, &Node{Reflector: &no})
	if labels := api.labels("n1"); labels[canaryLabel] != nil || labels[reflectorLabel] != nil {
		t.Errorf("labels of n1: %v", labels)
	}
	effects, _ = api.run(t, &Mesh{Stage: stageEnd})
	if diff := cmp.Diff([]string{"BGPPeer deployer-canary: remove"}, effects); diff != "" {
		t.Error(diff)
	}
	if effects, _ := api.run(t, &Mesh{Stage: stageEnd}); effects != nil {
		t.Errorf("again: %q", effects)
	}
	if _, out := api.run(t, &Sessions{}); out["restarts"] != false || out["needed"] != false || strings.Contains(fmt.Sprint(out), password) {
		t.Errorf("at the end: %v", out)
	}
}

// TestFormerPassword: while sessions have their former settings, as after a failure, no later stage gives
// them those of the inventory.
func TestFormerPassword(t *testing.T) {
	api, _ := passwordCluster(t, cluster.DatastoreKubernetes, cluster.AuthenticationMD5)
	for _, stage := range []string{stageBegin, stageMiddle, stageEnd} {
		if _, err := (&Mesh{Stage: stage}).Check(t.Context(), api.actx); err == nil || !strings.Contains(err.Error(), "have their former password") {
			t.Errorf("%s: %v", stage, err)
		}
	}
	api.actx.Check = true
	if change, err := (&Mesh{Stage: stageEnd}).Check(t.Context(), api.actx); err != nil || !change.Needed {
		t.Errorf("a dry run: %v, %v", change.Needed, err)
	}
}

// TestEffectsHideThePassword: a plan shows no password, and no content of the Secret.
func TestEffectsHideThePassword(t *testing.T) {
	api, password := passwordCluster(t, cluster.DatastoreKubernetes, cluster.AuthenticationMD5)
	change, err := (&Mesh{Stage: stageSettings}).Check(t.Context(), api.actx)
	if err != nil || len(change.Effects) != 2 {
		t.Fatalf("%v, %v", change.Effects, err)
	}
	encoded := fmt.Sprint(secretOf(map[string]string{"x": password}).Object["data"].(map[string]any)["x"])
	for _, e := range change.Effects {
		if text := fmt.Sprintf("%+v", e); strings.Contains(text, password) || strings.Contains(text, encoded) {
			t.Errorf("an effect has the password: %s", e.Target)
		}
	}
}

// TestReflectorsOfAMesh takes the steps of role calico-bgp from a mesh to the reflectors m1 and m2, and back.
func TestReflectorsOfAMesh(t *testing.T) {
	for _, datastore := range datastores {
		t.Run(datastore, func(t *testing.T) { reflectorsOfAMesh(t, datastore) })
	}
}

func reflectorsOfAMesh(t *testing.T, datastore string) {
	c, yes, no := resolvedWith(t, datastore, "m1", "m2"), true, false
	c.Network.Authentication = cluster.AuthenticationNone
	api := newFakeAPI(t, c, "m1", "m2", "n1")
	for i, name := range api.actx.Hosts {
		api.putNode(name, fmt.Sprintf("10.244.%d.0/24", i), nil)
	}
	on := func(host string, node *Node) []string {
		api.actx.Name = host
		effects, _ := api.run(t, node)
		return effects
	}
	api.put(bgpConfiguration(c.Network, true, sessionSettings{restartTime: restartTime}))
	_, out := api.run(t, &Sessions{})
	if diff := cmp.Diff([]any{"m1", "m2"}, out["become"]); diff != "" || out["needed"] != true || out["restarts"] != false {
		t.Errorf("%v", out)
	}
	api.run(t, &Mesh{Stage: stageBegin})
	effects := on("m1", &Node{Reflector: &yes})
	if diff := cmp.Diff([]string{"Node m1: make it a route reflector"}, effects); diff != "" || api.clusterID("m1") != c.Nodes["m1"].BGP.RouterID || api.labels("m1")[reflectorLabel] != "m1" {
		t.Errorf("m1: %s %v %s", api.clusterID("m1"), api.labels("m1"), diff)
	}
	on("m2", &Node{Reflector: &yes})
	api.run(t, &Mesh{Stage: stageMiddle})
	on("n1", &Node{Reflector: &no, Clients: true})
	if labels := api.labels("n1"); labels[clientPrefix+"m1"] != "true" || labels[clientPrefix+"m2"] != "true" || api.clusterID("n1") != "" {
		t.Errorf("n1: %v", labels)
	}
	api.run(t, &Mesh{Stage: stageEnd})
	if _, out := api.run(t, &Sessions{}); out["needed"] != false || api.object("BGPPeer", cluster.PeerTransition) != nil || api.object("BGPPeer", cluster.PeerClients("m1")) == nil {
		t.Errorf("with reflectors: %v", out)
	}
	if effects := on("n1", &Node{Reflector: &no, Clients: true}); effects != nil {
		t.Errorf("again: %q", effects)
	}

	back := resolvedWith(t, datastore)
	back.Network.Authentication = cluster.AuthenticationNone
	engine.Provide(api.actx.Provided, back)
	for _, stage := range []string{stageBegin, stageMiddle, stageEnd} {
		api.run(t, &Mesh{Stage: stage})
		for _, name := range api.actx.Hosts {
			on(name, &Node{Reflector: &no, Clients: true})
		}
	}
	if _, out := api.run(t, &Sessions{}); out["needed"] != false || api.clusterID("m1") != "" || len(api.labels("m1"))+len(api.labels("n1")) > 0 || api.object("BGPPeer", cluster.PeerClients("m1")) != nil {
		t.Errorf("back: %v, labels %v %v", out, api.labels("m1"), api.labels("n1"))
	}
}

// TestLeftReflector: a reflector that has left the cluster is no reflector, although etcd still has it.
func TestLeftReflector(t *testing.T) {
	c := resolvedWith(t, cluster.DatastoreEtcd)
	c.Network.Authentication = cluster.AuthenticationNone
	api := newFakeAPI(t, c, "m1")
	api.putNode("m1", "10.244.0.0/24", nil)
	api.put(bgpConfiguration(c.Network, true, sessionSettings{restartTime: restartTime}))
	api.etcd.Put(etcdResources+"nodes/gone", `{"kind":"Node","metadata":{"name":"gone"},"spec":{"bgp":{"routeReflectorClusterID":"10.0.0.9"}}}`)
	if _, out := api.run(t, &Sessions{}); out["needed"] != false {
		t.Errorf("%v", out)
	}
}
