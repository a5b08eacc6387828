package calico

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"deployer/cluster"
	"deployer/tasks/control/calico/datastore"
)

// resolved returns a cluster of three masters and two minions.
func resolved(t *testing.T, reflectors ...string) *cluster.Cluster {
	t.Helper()
	return resolvedWith(t, cluster.DatastoreKubernetes, reflectors...)
}

// datastores are the places of Calico's objects.
var datastores = []string{cluster.DatastoreKubernetes, cluster.DatastoreEtcd}

// resolvedWith returns the same cluster with a datastore.
func resolvedWith(t *testing.T, datastore string, reflectors ...string) *cluster.Cluster {
	t.Helper()
	var hosts []cluster.Host
	for name, address := range map[string]string{"m1": "10.0.0.1", "m2": "10.0.0.2", "m3": "10.0.0.3", "n1": "10.0.0.4", "n2": "10.0.0.5"} {
		role := cluster.RoleMinion
		if name[0] == 'm' {
			role = cluster.RoleMaster
		}
		hosts = append(hosts, cluster.Host{Name: name, Address: address, Roles: []string{role}})
	}
	slices.SortFunc(hosts, func(a, b cluster.Host) int { return slices.Compare([]byte(a.Name), []byte(b.Name)) })
	c, err := cluster.Resolve(cluster.Spec{Network: cluster.NetworkSpec{Plugin: cluster.PluginCalico, Reflectors: reflectors, Calico: cluster.CalicoSpec{Datastore: datastore}}}, hosts)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func TestNodePatch(t *testing.T) {
	yes, no := true, false
	node := resolved(t, "m1", "m2").Nodes["m1"]
	reflects := map[string]string{datastore.ClusterID: "10.0.0.1"}
	for name, c := range map[string]struct {
		annotations, labels map[string]string
		reflector, canary   *bool
		clients             []string
		routers             map[string]string
		want                map[string]any
	}{
		"becomes a reflector": {reflector: &yes, want: map[string]any{
			"labels": map[string]any{reflectorLabel: "m1"}, "annotations": map[string]any{datastore.ClusterID: "10.0.0.1"}}},
		"is a reflector": {annotations: reflects, labels: map[string]string{reflectorLabel: "m1"}, reflector: &yes},
		"leaves": {annotations: reflects, labels: map[string]string{reflectorLabel: "m1", "other": "x"}, reflector: &no, want: map[string]any{
			"labels": map[string]any{reflectorLabel: nil}, "annotations": map[string]any{datastore.ClusterID: nil}}},
		"becomes the canary of a mesh": {reflector: &yes, canary: &yes, want: map[string]any{
			"labels": map[string]any{reflectorLabel: "m1", canaryLabel: "true"}, "annotations": map[string]any{datastore.ClusterID: "10.0.0.1"}}},
		"is a canary no more": {annotations: reflects, labels: map[string]string{reflectorLabel: "m1", canaryLabel: "true"}, reflector: &yes, canary: &no, want: map[string]any{
			"labels": map[string]any{canaryLabel: nil}}},
		"clients change": {labels: map[string]string{clientPrefix + "m1": "true", clientPrefix + "m9": "true"}, clients: []string{"m1", "m2"}, want: map[string]any{
			"labels": map[string]any{clientPrefix + "m2": "true", clientPrefix + "m9": nil}}},
		"no clients any more": {labels: map[string]string{clientPrefix + "m1": "true"}, clients: []string{}, want: map[string]any{
			"labels": map[string]any{clientPrefix + "m1": nil}}},
		"nothing asked": {annotations: reflects, labels: map[string]string{clientPrefix + "m1": "true"}},
	} {
		var want map[string]any
		if c.want != nil {
			want = map[string]any{"metadata": c.want}
		}
		if diff := cmp.Diff(want, nodePatch(c.annotations, c.labels, node, c.reflector, c.canary, c.clients, c.routers)); diff != "" {
			t.Errorf("%s:\n%s", name, diff)
		}
	}
}

// TestStages checks that each stage has the sessions of the one before, or of the one after it.
func TestStages(t *testing.T) {
	mesh, reflected := resolved(t).WantedCalicoRoutes(), resolved(t, "m1", "m2").WantedCalicoRoutes()
	all := append(slices.Clone(reflected.Peers), cluster.PeerTransition)
	for name, c := range map[string]struct {
		stage      string
		want, have cluster.CalicoRoutes
		canaries   []string
		mesh       bool
		peers      []string
	}{
		"to reflectors, begin":   {stageBegin, reflected, mesh, nil, true, []string{cluster.PeerTransition}},
		"to reflectors, middle":  {stageMiddle, reflected, mesh, nil, false, all},
		"to reflectors, end":     {stageEnd, reflected, mesh, nil, false, reflected.Peers},
		"to a mesh, begin":       {stageBegin, mesh, reflected, nil, true, all},
		"to a mesh, middle":      {stageMiddle, mesh, reflected, nil, true, []string{cluster.PeerTransition}},
		"settings of a canary":   {stageCanary, mesh, mesh, nil, true, []string{cluster.PeerCanary}},
		"settings of reflectors": {stageSettings, mesh, reflected, nil, false, reflected.Peers},
		"a canary that is down":  {stageEnd, mesh, mesh, []string{"n1"}, true, []string{cluster.PeerCanary}},
		"to a mesh, end":         {stageEnd, mesh, reflected, nil, true, []string{}},
	} {
		gotMesh, gotPeers := sessionsOf(c.stage, c.want, sessions{CalicoRoutes: c.have, canaries: c.canaries})
		if diff := cmp.Diff(c.peers, gotPeers); gotMesh != c.mesh || diff != "" {
			t.Errorf("%s: mesh %v, want %v\n%s", name, gotMesh, c.mesh, diff)
		}
	}
}

func TestSessionNames(t *testing.T) {
	inRun := []string{"m1", "m2", "m3", "n1"} // n2 is down
	to := sessionNames{cluster: resolved(t, "m1", "m2"), have: cluster.CalicoRoutes{Mesh: true}, inRun: inRun}
	back := sessionNames{cluster: resolved(t), have: cluster.CalicoRoutes{Reflectors: []string{"m1", "m2"}}, inRun: inRun}
	dual := resolved(t, "m1", "m2")
	m1 := dual.Nodes["m1"]
	m1.IPs = append(m1.IPs, "fd00::1")
	dual.Nodes["m1"] = m1
	both := sessionNames{cluster: dual, inRun: []string{"m1", "n1"}}
	for name, c := range map[string]struct{ got, want []string }{
		"the mesh is there":          {to.begun("n1"), nil},
		"the mesh begins":            {back.begun("n1"), []string{"Mesh_10_0_0_3"}},
		"it begins for no reflector": {back.begun("m1"), nil},
		"a new reflector":            {to.changed("m1"), []string{"Node_10_0_0_2", "Node_10_0_0_3", "Node_10_0_0_4"}},
		"a former reflector":         {back.changed("m1"), []string{"Mesh_10_0_0_3", "Mesh_10_0_0_4"}},
		"an ordinary node":           {to.transition("n1"), []string{"Node_10_0_0_1", "Node_10_0_0_2"}},
		"all are in the mesh":        {back.transition("m1"), []string{"Mesh_10_0_0_2", "Mesh_10_0_0_3", "Mesh_10_0_0_4"}},
		"at the end":                 {to.final("n1"), []string{"Node_10_0_0_1", "Node_10_0_0_2"}},
		"present, with a canary":     {to.present("m3", []string{"n1"}), []string{"Mesh_10_0_0_1", "Mesh_10_0_0_2", "Mesh_10_0_0_4", "Node_10_0_0_1", "Node_10_0_0_2"}},
		"both families":              {both.final("n1"), []string{"Node_10_0_0_1", "Node_fd00__1"}},
	} {
		if diff := cmp.Diff(c.want, c.got); diff != "" {
			t.Errorf("%s:\n%s", name, diff)
		}
	}
}

func TestPeersSelectNodes(t *testing.T) {
	for name, want := range map[string][2]string{
		cluster.PeerTransition:    {"all()", "has(deployer/reflector)"},
		cluster.PeerReflectors:    {"has(deployer/reflector) && !has(deployer/bgp-canary)", "has(deployer/reflector) && !has(deployer/bgp-canary)"},
		cluster.PeerClients("m1"): {"has(reflector.deployer/m1) && !has(deployer/bgp-canary)", "deployer/reflector == 'm1'"},
	} {
		spec := bgpPeer(name, sessionSettings{}).Object["spec"].(map[string]any)
		if got := [2]string{spec["nodeSelector"].(string), spec["peerSelector"].(string)}; got != want {
			t.Errorf("%s selects %v, want %v", name, got, want)
		}
	}
}
