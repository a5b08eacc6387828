package cluster

import (
	"maps"
	"slices"
	"testing"
)

// TestSettingsTables: every entry of the tables of open and replaced settings is a setting that
// deployer writes, no setting is in both, and no reserved flag is one.
func TestSettingsTables(t *testing.T) {
	written := map[string]map[string]bool{}
	add := func(component string, names ...string) {
		if written[component] == nil {
			written[component] = map[string]bool{}
		}
		for _, name := range names {
			written[component][name] = true
		}
	}
	hosts := []Host{{Name: "m1", Address: "10.0.0.1", Roles: []string{RoleMaster}}, {Name: "m2", Address: "10.0.0.2", Roles: []string{RoleMaster}},
		{Name: "m3", Address: "10.0.0.3", Roles: []string{RoleMaster}}}
	hour := CertificatesSpec{LeafLifetime: 100 * defaultLeafLifetime}
	for _, spec := range []Spec{{}, {Certificates: hour, Versions: Versions{Etcd: "v3.5.26"}, Etcd: EtcdSpec{Events: EventsSpec{Enabled: true}}}} {
		spec = spec.WithDefaults()
		r := &resolver{spec: spec, hosts: hosts, place: place(spec, hosts)}
		r.clusterWide()
		r.out.Nodes = map[string]Node{}
		n := r.basicNode(hosts[0], r.topology())
		add(componentAPIServer, slices.Collect(maps.Keys(r.apiServerFlags(n)))...)
		add(componentControllerManager, slices.Collect(maps.Keys(r.controllerManagerFlags()))...)
		add(componentScheduler, slices.Collect(maps.Keys(r.schedulerFlags()))...)
		add(componentEtcd, slices.Collect(maps.Keys(r.etcdFlags(n)))...)
		add(componentKubelet, slices.Concat(slices.Collect(maps.Keys(kubeletFlags(n))), leaves("", r.kubeletConfig(n)))...)
		add(componentKubeProxy, append(leaves("", r.kubeProxyConfig(n)), "config")...)
		add(componentContainerd, leaves("", containerdBase(n))...)
	}
	for component, names := range openSettings {
		for _, name := range names {
			if !written[component][name] {
				t.Errorf("%s: deployer does not write the open setting %s", component, name)
			}
			if insteadSettings[component][name] != "" {
				t.Errorf("%s: %s is open and replaced", component, name)
			}
		}
	}
	for component, names := range insteadSettings {
		for name := range names {
			if !written[component][name] {
				t.Errorf("%s: deployer does not write %s", component, name)
			}
		}
	}
	for component, names := range reservedFlags {
		for name := range names {
			if written[component][name] {
				t.Errorf("%s: deployer writes the reserved flag %s", component, name)
			}
		}
	}
	for path := range kubeletFlagsOfFields {
		if !written[componentKubelet][path] {
			t.Errorf("the kubelet's file has no setting %s", path)
		}
	}
}
