package cluster_test

import (
	"strings"
	"testing"

	"deployer/cluster"
)

func TestAddons(t *testing.T) {
	one := cluster.AddonSpec{Name: "ingress", Manifests: []string{"ingress.yaml"}}
	with := func(edit func(*cluster.AddonSpec)) []cluster.AddonSpec {
		a := one
		edit(&a)
		return []cluster.AddonSpec{a}
	}
	for name, c := range map[string]struct {
		addons []cluster.AddonSpec
		want   string // "" for a valid list
	}{
		"valid":       {with(func(*cluster.AddonSpec) {}), ""},
		"name":        {with(func(a *cluster.AddonSpec) { a.Name = "Ingress" }), "cluster.addons[0].name: add-on \"Ingress\": the name is not made of"},
		"same name":   {[]cluster.AddonSpec{one, one}, "cluster.addons[1].name: add-on \"ingress\": two add-ons have this name"},
		"namespace":   {with(func(a *cluster.AddonSpec) { a.Namespace = "a.b" }), "cluster.addons[0].namespace: add-on \"ingress\": \"a.b\" is no name of a namespace"},
		"no content":  {with(func(a *cluster.AddonSpec) { a.Manifests = nil }), "it has no content"},
		"two sources": {with(func(a *cluster.AddonSpec) { a.Kustomize = "k" }), "cluster.addons[0].kustomize: add-on \"ingress\": manifests and kustomize exclude each other"},
		"oci": {with(func(a *cluster.AddonSpec) {
			a.Manifests, a.Chart, a.Version = nil, "oci://registry.example:5000/charts/a", "v1.2.3+4"
		}), ""},
		"repository": {with(func(a *cluster.AddonSpec) {
			a.Manifests, a.Chart, a.Repository, a.Version = nil, "a", "https://charts.example", "1.2.3"
		}), ""},
		"range": {with(func(a *cluster.AddonSpec) {
			a.Manifests, a.Chart, a.Repository, a.Version = nil, "a", "https://charts.example", "^1.2"
		}), "\"^1.2\" is not an exact version"},
		"oci tag": {with(func(a *cluster.AddonSpec) {
			a.Manifests, a.Chart, a.Version = nil, "oci://registry.example/a:1", "1.0.0"
		}), "write the version as version"},
		"oci in two": {with(func(a *cluster.AddonSpec) {
			a.Manifests, a.Chart, a.Repository, a.Version = nil, "a", "oci://registry.example", "1.0.0"
		}), "has its whole address as chart"},
		"file address": {with(func(a *cluster.AddonSpec) {
			a.Manifests, a.Chart, a.Repository, a.Version = nil, "a", "file:///x", "1.0.0"
		}), "it is no http or https address"},
		"password": {with(func(a *cluster.AddonSpec) {
			a.Manifests, a.Chart, a.Repository, a.Version = nil, "a", "https://u:p@x.example", "1.0.0"
		}), "write user and password as cluster.containerd.credentials"},
		"local version":  {with(func(a *cluster.AddonSpec) { a.Manifests, a.Chart, a.Version = nil, "charts/a", "1.0.0" }), "version is for a chart of a registry or repository"},
		"timeout":        {with(func(a *cluster.AddonSpec) { a.Timeout = -1 }), "want a duration such as 5m"},
		"second network": {with(func(a *cluster.AddonSpec) { a.Network = true }), "network: true needs network.plugin: none"},
	} {
		t.Run(name, func(t *testing.T) {
			problems := cluster.Validate(cluster.Spec{Addons: c.addons}, fleet(masters(1), minions(1)))
			if got := problems.Error(); c.want == "" && got != "" || !strings.Contains(got, c.want) {
				t.Errorf("problems: %s", got)
			}
		})
	}
}

// TestNetworkAddon: nodes must be Ready at the end of an install when an add-on is the network.
func TestNetworkAddon(t *testing.T) {
	for network, later := range map[bool]bool{true: false, false: true} {
		s := cluster.Spec{Addons: []cluster.AddonSpec{{Name: "net", Manifests: []string{"net.yaml"}, Network: network}}}
		s.Network.Plugin = cluster.PluginNone
		c, err := cluster.Resolve(s, fleet(masters(1), minions(1)))
		if err != nil || c.Network.Later != later || c.Addons[0].Network != network {
			t.Errorf("network %t: %v, later %t, %+v", network, err, c.Network.Later, c.Addons)
		}
	}
}
