package routes

import (
	"testing"

	"deployer/cluster"
	"deployer/engine"
	"deployer/tasks/control/actiontest"
)

func TestPodMTU(t *testing.T) {
	uplinks := func(mtu int) engine.Output {
		return engine.Output{"uplinks": []any{map[string]any{"name": "eth0", "mtu": float64(mtu)}}}
	}
	present := engine.Output{"files": map[string]any{cniConf: `{"plugins":[{"type":"bridge","mtu":1450},{"type":"portmap"}]}`}}
	for name, tt := range map[string]struct {
		network cluster.NetworkSpec
		results map[string]map[string]engine.Output
		hosts   []string
		want    int
	}{
		"the lowest":       {cluster.NetworkSpec{}, map[string]map[string]engine.Output{"m1": {"uplinks": uplinks(1500)}, "n1": {"uplinks": uplinks(1400)}}, []string{"m1", "n1"}, 1400},
		"the default":      {cluster.NetworkSpec{}, map[string]map[string]engine.Output{"m1": {"uplinks": uplinks(1500), "found": present}, "n1": {"uplinks": uplinks(9000), "found": present}}, []string{"m1", "n1"}, 0},
		"a node is away":   {cluster.NetworkSpec{}, map[string]map[string]engine.Output{"m1": {"uplinks": uplinks(1500), "found": present}}, []string{"m1"}, 1450},
		"of the inventory": {cluster.NetworkSpec{MTU: 1480}, map[string]map[string]engine.Output{"n1": {"uplinks": uplinks(1400)}}, []string{"m1", "n1"}, 1480},
		"Calico":           {cluster.NetworkSpec{Plugin: cluster.PluginCalico}, nil, []string{"m1", "n1"}, 0},
	} {
		t.Run(name, func(t *testing.T) {
			c, err := cluster.Resolve(cluster.Spec{Name: "test", Network: tt.network}, []cluster.Host{
				{Name: "m1", Address: "10.0.0.1", Roles: []string{cluster.RoleMaster}},
				{Name: "n1", Address: "10.0.0.2", Roles: []string{cluster.RoleMinion}},
			})
			if err != nil {
				t.Fatal(err)
			}
			actx := &actiontest.Context{Name: "m1", Hosts: tt.hosts, Provided: engine.Services{}, Results: tt.results}
			engine.Provide(actx.Provided, c)
			change, err := (&PodMTU{Found: "found", Uplinks: "uplinks"}).Check(t.Context(), actx)
			if err != nil || change.Needed || change.Output["mtu"] != tt.want {
				t.Errorf("got %v, %v; want the MTU %d", change, err, tt.want)
			}
		})
	}
}
