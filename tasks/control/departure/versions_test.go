package departure

import (
	"testing"

	"deployer/cluster"
	"deployer/engine"
	"deployer/tasks/control/actiontest"
	"deployer/tasks/control/preflight"
)

// TestVersionsThatTheRunWouldChange checks that a host does not leave when the run would
// install another version of a component: the control planes of the masters that stay, when
// a member of etcd leaves, and kubelet and kube-proxy of a master that becomes a minion.
func TestVersionsThatTheRunWouldChange(t *testing.T) {
	type versions = map[string]any
	control := func(version string) versions {
		return versions{"kube-apiserver": version, "kube-controller-manager": version, "kube-scheduler": version, "kubelet": "v1.36.3", "kube-proxy": "v1.36.3"}
	}
	old, wanted, ahead := control("v1.35.4"), control("v1.36.3"), control("v1.36.4")
	node := versions{"kubelet": "v1.35.4", "kube-proxy": "v1.36.3"}
	for name, c := range map[string]struct {
		report   Report
		found    map[string]versions
		policies map[string]any // of m3
		want     []string
	}{
		"versions of the inventory": {Report{Members: []string{"m3"}}, map[string]versions{"m1": wanted, "m2": wanted}, nil, nil},
		"the inventory is behind": {Report{Members: []string{"m3"}}, map[string]versions{"m1": ahead, "m2": ahead}, nil, []string{
			"m1", "kube-apiserver is v1.36.4, newer than v1.36.3 of the inventory: a downgrade is refused; set the newer version in the inventory", "kube-scheduler", "(also on m2)"}},
		"the inventory is ahead": {Report{Members: []string{"m3"}}, map[string]versions{"m1": wanted, "m2": old}, nil, []string{
			"m2", "kube-apiserver is v1.35.4, the inventory has v1.36.3: this is an upgrade", "run first: deployer upgrade -i x.yaml", "overrides of the host"}},
		"no control plane is installed again": {Report{Nodes: []string{"n1"}}, map[string]versions{"m1": old, "m2": old}, nil, nil},
		"a dead master without an answer":     {Report{Members: []string{"m2"}, Dead: []string{"m2"}}, map[string]versions{"m1": wanted}, nil, nil},
		"the kubelet of a master that leaves": {Report{Members: []string{"m3"}, Hosts: []string{"m3"}}, map[string]versions{"m1": wanted, "m3": node}, nil, nil},
		"the kubelet of a master that becomes a minion": {Report{Members: []string{"m3"}, Hosts: []string{"m3"}, KeepNodes: true}, map[string]versions{"m1": wanted, "m3": node}, nil, []string{
			"m3", "kubelet is v1.35.4, the inventory has v1.36.3"}},
		"a policy of its kubelet": {Report{Members: []string{"m3"}, Hosts: []string{"m3"}, KeepNodes: true}, map[string]versions{"m1": wanted, "m3": {"kubelet": "v1.36.3"}}, map[string]any{"cpuManagerPolicy": "static"}, []string{
			"m3", "the kubelet's cpuManagerPolicy changes from static to none"}},
	} {
		resolved, err := cluster.Resolve(cluster.Spec{Etcd: cluster.EtcdSpec{AllowEven: true}}, []cluster.Host{
			{Name: "m1", Address: "10.0.0.1", Roles: []string{"master"}}, {Name: "m2", Address: "10.0.0.2", Roles: []string{"master"}},
			{Name: "m3", Address: "10.0.0.3", Roles: []string{"minion"}},
		})
		if err != nil {
			t.Fatal(err)
		}
		actx := &actiontest.Context{Provided: engine.Services{}, Results: map[string]map[string]engine.Output{}}
		engine.Provide(actx.Provided, resolved)
		engine.Provide(actx.Provided, preflight.Commands{Upgrade: "deployer upgrade -i x.yaml"})
		for _, host := range []string{"m1", "m2", "m3"} {
			actx.Hosts = append(actx.Hosts, host)
			if v := c.found[host]; v != nil {
				actx.Results[host] = map[string]engine.Output{"versions_found": {"versions": v, "policies": c.policies}}
			}
		}
		c.report.Versions = "versions_found"
		require(t, name, problems(c.report.versions(actx)), c.want...)
	}
}
