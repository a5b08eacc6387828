package importer

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// networkVars are the variables of Kubespray that together choose the pod network.
var networkVars = []string{
	"kube_network_plugin", "calico_datastore", "calico_network_backend", "calico_ipip_mode", "calico_vxlan_mode",
	"peer_with_calico_rr", "cluster_id", "peer_with_router", "peers",
}

// podNetwork moves the settings that choose the pod network to the section cluster. Those that are
// unset have Kubespray's defaults (roles/kubespray_defaults and roles/network_plugin/calico, since
// release 2.19): Calico, in VXLAN between all nodes.
func (c *converter) podNetwork() {
	if !c.kubespray {
		return
	}
	v := c.network["kube_network_plugin"]
	plugin := cmp.Or(text(v), "calico")
	if plugin != "calico" {
		c.cluster.remove("network", "calico") // Kubespray ignores them, too
		c.cluster.remove("network", "bgp")
	}
	switch plugin {
	case "calico":
		c.calico()
	case "cni":
		c.cluster.setPath([]string{"network", "plugin"}, "none")
	default:
		c.note(v.at, describe("kube_network_plugin", v.v), "is not installed here: the pod network is BGP with BIRD, or cluster.network.plugin calico; another one is yours to apply, with plugin none")
	}
}

// text returns the text of a value; empty when it is unset.
func text(v value) string {
	if v.v == nil {
		return ""
	}
	return fmt.Sprint(v.v)
}

// calico sets Calico with its encapsulation.
func (c *converter) calico() {
	plugin := c.network["kube_network_plugin"]
	if plugin.v == nil {
		c.note("", "kube_network_plugin", "is unset, which is Calico: cluster.network.plugin is calico here")
	}
	c.cluster.setPath([]string{"network", "plugin"}, "calico")
	if v := c.network["calico_datastore"]; text(v) == "etcd" {
		c.cluster.setPath([]string{"network", "calico", "datastore"}, "etcd")
		c.note(v.at, describe("calico_datastore", v.v), "is an etcd cluster of Calico's own here, not the one of Kubernetes")
	}
	ipip, vxlan := c.network["calico_ipip_mode"], c.network["calico_vxlan_mode"]
	encapsulation, ok := encapsulationOf(cmp.Or(text(ipip), "Never"), cmp.Or(text(vxlan), "Always"))
	if !ok {
		c.note(cmp.Or(ipip.at, vxlan.at), fmt.Sprintf("calico_ipip_mode %s with calico_vxlan_mode %s", text(ipip), text(vxlan)), "has no equivalent at cluster.network.calico.encapsulation")
		return
	}
	c.cluster.setPath([]string{"network", "calico", "encapsulation"}, encapsulation)
	c.routers(encapsulation)
	if ipip.v == nil && vxlan.v == nil {
		c.note("", "calico_vxlan_mode", "is unset, which is Always since Kubespray 2.19: cluster.network.calico.encapsulation is vxlan here; a cluster that began with an older release may have IPIP (kubectl get ippools)")
	}
	if backend := c.network["calico_network_backend"]; text(backend) == "bird" && strings.HasPrefix(encapsulation, "vxlan") {
		c.note(backend.at, describe("calico_network_backend", backend.v), "is left out: with encapsulation "+encapsulation+" there is no BGP here")
	}
}

// encapsulationOf returns the encapsulation of a pool with these modes of Calico; false for modes
// that Calico does not take together.
func encapsulationOf(ipip, vxlan string) (string, bool) {
	names := map[string]string{"Always": "", "CrossSubnet": "-cross-subnet"}
	ofIPIP, hasIPIP := names[ipip]
	ofVXLAN, hasVXLAN := names[vxlan]
	switch {
	case hasIPIP && vxlan == "Never":
		return "ipip" + ofIPIP, true
	case hasVXLAN && ipip == "Never":
		return "vxlan" + ofVXLAN, true
	case ipip == "Never" && vxlan == "Never":
		return "none", true
	}
	return "", false
}

// reflectors sets the route reflectors: the hosts of Kubespray's group for them.
func (c *converter) reflectors(masters, minions []any) {
	var out []any
	for _, g := range []string{"calico_rr", "calico-rr"} {
		for _, h := range c.src.in(g) {
			if name := c.names[h]; slices.Contains(masters, any(name)) || slices.Contains(minions, any(name)) {
				out = append(out, name)
				continue
			}
			c.note("", "host "+h+" in "+g, "is left out, because it is not a node of the cluster: route reflectors are nodes here")
		}
	}
	if out == nil {
		return
	}
	if encapsulation := c.cluster.text("network", "calico", "encapsulation"); strings.HasPrefix(encapsulation, "vxlan") {
		c.note("", "group calico_rr", "is left out: with cluster.network.calico.encapsulation "+encapsulation+" there are no BGP sessions and no route reflectors")
		return
	}
	c.cluster.setPath([]string{"network", "reflectors"}, out)
}
