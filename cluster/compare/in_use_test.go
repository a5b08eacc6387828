package compare_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"deployer/cluster"
	"deployer/cluster/compare"
)

// inUse returns the state of a cluster in use that equals c.
func inUse(c *cluster.Cluster) compare.InUse {
	u := compare.InUse{Hosts: map[string]compare.HostInUse{}, Etcd: healthy(c).Etcd, Services: &compare.ServicesInUse{CIDRs: c.ServiceCIDRs, IP: c.ServiceIP}, Nodes: []compare.NodeInUse{}}
	for i, name := range c.Order {
		n := c.Nodes[name]
		h := compare.HostInUse{Node: name, Domain: c.DNS.Domain, Plugin: c.Network.Plugin, KubeProxy: compare.KubeProxyRuns, CNI: c.Network.CNI, PodCIDR: fmt.Sprintf("10.244.%d.0/24", i), MaxPods: 110}
		if n.IsMaster {
			h.Member, h.ServiceCIDR, h.IssuerDomain = name, c.ServiceCIDRs[0], c.DNS.Domain
		}
		if n.RunsProxyPod || n.RunsProxyUnit {
			h.APIProxy = c.Proxy.Kind
		}
		for _, p := range n.BGP.Peers {
			h.Peers = append(h.Peers, p.Name)
		}
		u.Hosts[name] = h
		u.Nodes = append(u.Nodes, compare.NodeInUse{Name: name, PodCIDR: h.PodCIDR})
	}
	return u
}

// set changes what the files of some hosts say; without names, of all hosts.
func set(u *compare.InUse, change func(*compare.HostInUse), names ...string) {
	for name, h := range u.Hosts {
		if len(names) == 0 || strings.Contains(" "+strings.Join(names, " ")+" ", " "+name+" ") {
			change(&h)
			u.Hosts[name] = h
		}
	}
}

// noAPI makes the API and etcd silent.
func noAPI(u *compare.InUse) { u.Nodes, u.Services, u.Etcd = nil, nil, nil }

// TestConflicts changes the cluster, the inventory or both, and checks the conflicts: host and
// subject, and parts of the text.
func TestConflicts(t *testing.T) {
	swap := func(u *compare.InUse) { u.Hosts["n1"], u.Hosts["n2"] = u.Hosts["n2"], u.Hosts["n1"] }
	lost := func(name string) func(*compare.InUse) {
		return func(u *compare.InUse) {
			u.Nodes = append(u.Nodes, compare.NodeInUse{Name: name, PodCIDR: "10.244.9.0/24"})
			u.Etcd.Members = append(u.Etcd.Members, cluster.LiveMember{ID: 99, Name: name, PeerURLs: []string{"https://192.0.2.99:2380"}, Started: true, Healthy: true})
			set(u, func(h *compare.HostInUse) { h.Peers = append(h.Peers, name) })
		}
	}
	none := func(*cluster.Cluster) {}
	both := func(changes ...func(*compare.InUse)) func(*compare.InUse) {
		return func(u *compare.InUse) {
			for _, c := range changes {
				c(u)
			}
		}
	}
	services := func(c *cluster.Cluster) { c.ServiceCIDRs, c.ServiceIP = []string{"10.97.0.0/16"}, "10.97.0.1" }
	domain := func(former ...string) func(c *cluster.Cluster) {
		return func(c *cluster.Cluster) { c.DNS.Domain, c.DNS.FormerDomains = "other.local", former }
	}
	nginx := func(names ...string) func(*compare.InUse) {
		return func(u *compare.InUse) {
			set(u, func(h *compare.HostInUse) {
				if h.APIProxy != "" {
					h.APIProxy = cluster.ProxyNginx
				}
			}, names...)
		}
	}
	for name, c := range map[string]struct {
		want  func(*cluster.Cluster)
		found func(*compare.InUse)
		says  []string // host, subject, parts of detail and advice; empty: no conflict
	}{
		"equal":                      {none, func(*compare.InUse) {}, nil},
		"equal, and no API":          {none, noAPI, nil},
		"no host has anything":       {none, func(u *compare.InUse) { noAPI(u); set(u, func(h *compare.HostInUse) { *h = compare.HostInUse{} }) }, nil},
		"a reinstalled host":         {none, func(u *compare.InUse) { set(u, func(h *compare.HostInUse) { *h = compare.HostInUse{} }, "n1") }, nil},
		"swapped addresses":          {none, swap, []string{"n1 identity: 192.0.2.101 is the node n2; the inventory calls it n1", "the addresses of n1 and n2 are swapped", "n2 identity: 192.0.2.102 is the node n1"}},
		"swapped, one is empty":      {none, both(swap, func(u *compare.InUse) { set(u, func(h *compare.HostInUse) { *h = compare.HostInUse{} }, "n2") }), []string{"n1 identity", "correct the addresses of n1 and n2"}},
		"another name":               {none, func(u *compare.InUse) { set(u, func(h *compare.HostInUse) { h.Node = "web1" }, "n1") }, []string{"n1 identity", "call it web1 in the inventory again", "deployer scale-down web1"}},
		"another member":             {none, func(u *compare.InUse) { set(u, func(h *compare.HostInUse) { h.Member = "m3" }, "m2") }, []string{"m2 identity: 192.0.2.2 is the etcd member m3"}},
		"a lost minion":              {none, func(u *compare.InUse) { u.Nodes = append(u.Nodes, compare.NodeInUse{Name: "n3"}) }, []string{" nodes: the cluster has nodes that the inventory does not name: n3", "write them into the inventory again", "deployer scale-down n3", "deployer scale-down --dead n3", "cluster.unmanaged_nodes"}},
		"a lost master":              {none, lost("m4"), []string{" nodes: ", "does not name: m4"}},
		"a lost master without node": {none, func(u *compare.InUse) { n := u.Nodes; lost("m4")(u); u.Nodes = n }, []string{" etcd members: etcd has members that the inventory does not name: m4", "--dead m4"}},
		"a lost master, no API":      {none, both(lost("m4"), noAPI), []string{" nodes: the API does not answer, and nodes have BGP sessions with hosts that the inventory does not name: m4"}},
		"it leaves":                  {none, both(lost("m4"), func(u *compare.InUse) { u.Leaving = []string{"m4"} }), nil},
		"it leaves, no API":          {none, both(lost("m4"), noAPI, func(u *compare.InUse) { u.Leaving = []string{"m4"} }), nil},
		"of another program": {func(c *cluster.Cluster) { c.UnmanagedNodes = []string{"virtual-*"} }, func(u *compare.InUse) {
			u.Nodes = append(u.Nodes, compare.NodeInUse{Name: "virtual-kubelet-7"})
		}, nil},
		"a host that is no node any more": {func(c *cluster.Cluster) { n := c.Nodes["n2"]; n.IsNode, n.IsProxy = false, true; c.Nodes["n2"] = n }, func(*compare.InUse) {}, nil},
		"a host without any role":         {func(c *cluster.Cluster) { n := c.Nodes["n2"]; n.IsNode = false; c.Nodes["n2"] = n }, func(*compare.InUse) {}, []string{" nodes: ", "does not name: n2"}},
		"a member that never started": {none, func(u *compare.InUse) {
			u.Etcd.Members = append(u.Etcd.Members, cluster.LiveMember{ID: 7, Learner: true, PeerURLs: []string{"https://192.0.2.77:2380"}})
		}, nil},
		"pod_cidr moved":             {func(c *cluster.Cluster) { c.PodCIDRs = []string{"10.200.0.0/16"} }, func(*compare.InUse) {}, []string{" pod_cidr: pod_cidr is 10.200.0.0/16", "m1 10.244.0.0/24, ", "restore pod_cidr, or widen it"}},
		"pod_cidr moved, no API":     {func(c *cluster.Cluster) { c.PodCIDRs = []string{"10.200.0.0/16"} }, noAPI, []string{" pod_cidr: "}},
		"pod_cidr widened":           {func(c *cluster.Cluster) { c.PodCIDRs = []string{"10.244.0.0/15"} }, func(*compare.InUse) {}, nil},
		"service_cidr":               {services, func(*compare.InUse) {}, []string{" service_cidr: service_cidr is 10.97.0.0/16, and the ServiceCIDR kubernetes of the cluster is 10.96.0.0/16", "restore service_cidr"}},
		"service_cidr, older API":    {services, func(u *compare.InUse) { u.Services.CIDRs = nil }, []string{"the Service kubernetes has the address 10.96.0.1"}},
		"service_cidr, no API":       {services, noAPI, []string{"the API servers of all masters have 10.96.0.0/16"}},
		"service_cidr, half changed": {services, both(noAPI, func(u *compare.InUse) { set(u, func(h *compare.HostInUse) { h.ServiceCIDR = "10.97.0.0/16" }, "m1") }), nil},
		"service_cidr, the way back": {none, func(u *compare.InUse) {
			set(u, func(h *compare.HostInUse) { h.ServiceCIDR = "10.97.0.0/16" }, "m1", "m2", "m3")
		}, nil},
		"dns.domain":                   {domain(), func(*compare.InUse) {}, []string{" dns.domain: dns.domain is other.local, and the cluster has cluster.local", "former_domains: [cluster.local]"}},
		"dns.domain beside the former": {domain("cluster.local"), func(*compare.InUse) {}, nil},
		"dns.domain, another former":   {domain("old.local"), func(*compare.InUse) {}, []string{" dns.domain: "}},
		"dns.domain, own issuer":       {domain(), func(u *compare.InUse) { set(u, func(h *compare.HostInUse) { h.IssuerDomain = "" }) }, []string{" dns.domain: "}},
		"dns.domain, half changed":     {domain(), func(u *compare.InUse) { set(u, func(h *compare.HostInUse) { h.IssuerDomain = "other.local" }, "m2") }, nil},
		"network.cni":                  {func(c *cluster.Cluster) { c.Network.CNI = "ptp" }, func(*compare.InUse) {}, []string{" network.cni: network.cni is ptp, and the pods of the cluster are connected by bridge"}},
		"network.cni, half changed":    {func(c *cluster.Cluster) { c.Network.CNI = "ptp" }, func(u *compare.InUse) { set(u, func(h *compare.HostInUse) { h.CNI = "ptp" }, "n1") }, nil},
		"network.plugin none":          {func(c *cluster.Cluster) { c.Network.Plugin = "none" }, func(*compare.InUse) {}, []string{" network.plugin: network.plugin is none, and the cluster was installed with bgp"}},
		"network.plugin bgp": {none, func(u *compare.InUse) {
			set(u, func(h *compare.HostInUse) { h.Plugin, h.CNI = "none", "" })
		}, []string{" network.plugin: network.plugin is bgp, and the cluster was installed with none"}},
		"network.plugin calico": {calico("none"), func(*compare.InUse) {}, []string{"the cluster was installed with bgp", "or change it with deployer network change-plugin"}},
		"network.plugin calico, half changed": {calico("none"), func(u *compare.InUse) {
			set(u, func(h *compare.HostInUse) { h.Plugin, h.CNI = "calico", "" }, "m1", "n2")
		}, []string{"m2, m3, n1 were installed with bgp", "or change it with deployer network change-plugin"}},
		"network.plugin bgp, half changed": {none, func(u *compare.InUse) {
			set(u, func(h *compare.HostInUse) { h.Plugin, h.CNI = "calico", "" }, "n2")
		}, []string{"network.plugin is bgp, and n2 was installed with calico", "or change it with deployer network change-plugin"}},
		"change-plugin":                {calico("none"), changes, nil},
		"change-plugin, half changed":  {calico("none"), both(changes, func(u *compare.InUse) { set(u, func(h *compare.HostInUse) { h.Plugin = "calico" }, "n1") }), nil},
		"change-plugin, nothing to do": {none, changes, nil},
		"change-plugin to none":        {func(c *cluster.Cluster) { c.Network.Plugin = "none" }, changes, []string{" network.plugin: "}},
		"change-plugin to VXLAN":       {calico("vxlan"), changes, []string{" network.calico: the inventory encapsulates", "set network.calico.encapsulation: none"}},
		"change-plugin of two families": {func(c *cluster.Cluster) {
			c.PodCIDRs = append(c.PodCIDRs, "fd00:10:244::/56")
			calico("none")(c)
		}, func(u *compare.InUse) {
			changes(u)
			for i := range u.Nodes {
				u.Nodes[i].PodCIDR += fmt.Sprintf(",fd00:10:244:%x::/64", i)
			}
		}, nil},
		"change-plugin with a router": {func(c *cluster.Cluster) {
			calico("none")(c)
			n := c.Nodes["n1"]
			n.BGP.Routers = []cluster.Router{{Name: "tor"}}
			c.Nodes["n1"] = n
		}, changes, nil},
		"change-plugin to large blocks of IPv6": {func(c *cluster.Cluster) {
			c.PodCIDRs = append(c.PodCIDRs, "fd00:10:244::/56")
			calico("none")(c)
			c.Network.Calico.Pools = append(c.Network.Calico.Pools, cluster.ResolvedPool{Name: "default-ipv6-ippool", CIDR: c.PodCIDRs[1], BlockSize: 60, IPIPMode: "Never", VXLANMode: "Never"})
		}, func(u *compare.InUse) {
			changes(u)
			for i := range u.Nodes {
				u.Nodes[i].PodCIDR += fmt.Sprintf(",fd00:10:244:%x::/64", i)
			}
		}, []string{" network.calico: a block of Calico (/60) is larger than the range of a node: m1 fd00:10:244::/64", "block_size_ipv6"}},
		"change-plugin to large blocks": {func(c *cluster.Cluster) { calico("none")(c); c.Network.Calico.Pools[0].BlockSize = 23 }, changes,
			[]string{" network.calico: a block of Calico (/23) is larger than the range of a node: m1 10.244.0.0/24"}},
		"a host that has lost the files of its network": {none, func(u *compare.InUse) {
			set(u, func(h *compare.HostInUse) { h.Plugin, h.CNI = "none", "" }, "n1")
		}, nil},
		"virtual address":         {virtual("10.0.0.100"), holders("10.0.0.100"), nil},
		"a first virtual address": {virtual("10.0.0.100"), func(*compare.InUse) {}, nil},
		"virtual address changed": {virtual("10.0.0.101"), holders("10.0.0.100"),
			[]string{" api.virtual_ip: api.virtual_ip.address is 10.0.0.101, and the cluster has 10.0.0.100", "write former: [10.0.0.100] beside it"}},
		"virtual address beside the former":   {virtual("10.0.0.101", "10.0.0.100"), holders("10.0.0.100"), nil},
		"virtual address without the former":  {virtual("10.0.0.101"), holders("10.0.0.101", "10.0.0.100"), nil},
		"no virtual address":                  {virtual(""), holders("10.0.0.100"), nil},
		"proxy.kind by default":               {none, nginx(), []string{" proxy.kind: the inventory does not name proxy.kind, its default is haproxy, and the cluster runs nginx", "proxy: {kind: nginx} below cluster to keep it"}},
		"proxy.kind by default, half changed": {none, nginx("n1"), nil},
		"proxy.kind by name":                  {func(c *cluster.Cluster) { c.Proxy.KindNamed = true }, nginx(), nil},
		"kube_proxy.mode none":                {func(c *cluster.Cluster) { c.KubeProxy.Mode = "none" }, func(*compare.InUse) {}, []string{" kube_proxy.mode: kube_proxy.mode is none, and the nodes of the cluster have a kube-proxy: nobody"}},
		"kube_proxy.mode nftables after none": {func(c *cluster.Cluster) { c.KubeProxy.Mode = "nftables" }, func(u *compare.InUse) {
			set(u, func(h *compare.HostInUse) { h.KubeProxy = compare.KubeProxyNone })
		}, []string{" kube_proxy.mode: kube_proxy.mode is nftables, and the nodes of the cluster have no kube-proxy"}},
		"kube_proxy.mode nftables":         {func(c *cluster.Cluster) { c.KubeProxy.Mode = "nftables" }, func(*compare.InUse) {}, nil},
		"node_prefix is kept by its nodes": {func(c *cluster.Cluster) { c.NodePrefix = 25 }, func(*compare.InUse) {}, nil},
	} {
		want := resolve(t, 3, 2)
		found := inUse(want)
		c.want(want)
		c.found(&found)
		var lines []string
		for _, one := range compare.Conflicts(want, found) {
			lines = append(lines, fmt.Sprintf("%s %s: %s; %s", one.Host, one.Subject, one.Detail, one.Fix))
		}
		text := strings.Join(lines, "\n")
		if len(c.says) == 0 && text != "" {
			t.Errorf("%s: %s", name, text)
		}
		for _, part := range c.says {
			if !strings.Contains(text, part) {
				t.Errorf("%s: no %q in:\n%s", name, part, text)
			}
		}
	}
}

// virtual gives the inventory a virtual address, and former ones.
func virtual(address string, former ...string) func(*cluster.Cluster) {
	return func(c *cluster.Cluster) { c.API.VirtualIP.Address, c.API.VirtualIP.Former = address, former }
}

// holders gives virtual addresses to the masters.
func holders(addresses ...string) func(*compare.InUse) {
	return func(u *compare.InUse) {
		set(u, func(h *compare.HostInUse) { h.VirtualIPs = addresses }, "m1", "m2", "m3")
	}
}

// calico gives the inventory Calico with an encapsulation.
func calico(encapsulation string) func(*cluster.Cluster) {
	return func(c *cluster.Cluster) {
		pool := cluster.ResolvedPool{Name: "default-ipv4-ippool", CIDR: c.PodCIDRs[0], BlockSize: 26, IPIPMode: "Never", VXLANMode: "Never"}
		if encapsulation == cluster.EncapsulationVXLAN {
			pool.VXLANMode = "Always"
		}
		c.Network.Plugin, c.Network.Calico.Pools = cluster.PluginCalico, []cluster.ResolvedPool{pool}
	}
}

// changes makes the run one of network change-plugin.
func changes(u *compare.InUse) { u.ChangesPlugin = true }

// TestWarnings: a changed node_prefix names the nodes that keep their ranges, and those that have
// too few addresses for the pods that their kubelets may run.
func TestWarnings(t *testing.T) {
	want := resolve(t, 1, 1)
	found := inUse(want)
	if got := compare.Warnings(want, found); len(got) > 0 {
		t.Errorf("nothing has changed: %v", got)
	}
	want.NodePrefix = 23
	kept := "node_prefix 23 holds for nodes that join; these keep their ranges: m1 10.244.0.0/24, n1 10.244.1.0/24"
	if diff := cmp.Diff([]string{kept}, compare.Warnings(want, found)); diff != "" {
		t.Error(diff)
	}
	want.Nodes["n1"].KubeletConfig["maxPods"] = 400
	got := compare.Warnings(want, found)
	if len(got) != 2 || got[0] != kept || !strings.Contains(got[1], ": n1 10.244.1.0/24 has room for 253 pods, and maxPods is 400; lower max_pods") {
		t.Errorf("%q", got)
	}
}

// TestPodCapacity: a run does not let a kubelet accept more pods than the range that its node
// keeps has addresses. One that accepts them already, or that the run does not reach, does not
// stop the run.
func TestPodCapacity(t *testing.T) {
	for name, c := range map[string]struct {
		wanted int
		change func(*compare.InUse)
		says   string // empty: no conflict
	}{
		"as many as the range has":   {253, func(*compare.InUse) {}, ""},
		"more than the range has":    {400, func(*compare.InUse) {}, "n1 10.244.1.0/24 has room for 253 pods, and maxPods is 400"},
		"one more, no API":           {254, noAPI, "n1 10.244.1.0/24 has room for 253 pods, and maxPods is 254"},
		"a host installed again":     {400, func(u *compare.InUse) { set(u, func(h *compare.HostInUse) { *h = compare.HostInUse{} }, "n1") }, "n1 10.244.1.0/24"},
		"more than it accepts today": {400, func(u *compare.InUse) { set(u, func(h *compare.HostInUse) { h.MaxPods = 300 }, "n1") }, "n1 10.244.1.0/24"},
		"it accepts them already":    {400, func(u *compare.InUse) { set(u, func(h *compare.HostInUse) { h.MaxPods = 400 }, "n1") }, ""},
		"on the way back":            {300, func(u *compare.InUse) { set(u, func(h *compare.HostInUse) { h.MaxPods = 400 }, "n1") }, ""},
		"not in the run":             {400, func(u *compare.InUse) { delete(u.Hosts, "n1") }, ""},
		"it leaves":                  {400, func(u *compare.InUse) { u.Leaving = []string{"n1"} }, ""},
		"it has joined again":        {400, func(u *compare.InUse) { u.Nodes[1].PodCIDR = "10.244.2.0/23" }, ""},
	} {
		want := resolve(t, 1, 1)
		want.NodePrefix = 23
		want.Nodes["n1"].KubeletConfig["maxPods"] = c.wanted
		found := inUse(want)
		c.change(&found)
		got := compare.Conflicts(want, found)
		if c.says == "" {
			if len(got) > 0 {
				t.Errorf("%s: %+v", name, got)
			}
			continue
		}
		if len(got) != 1 || got[0].Subject != "max_pods" || !strings.Contains(got[0].Detail, c.says) || strings.Contains(got[0].Detail, "m1") ||
			!strings.Contains(got[0].Fix, "lower kubelet.max_pods to 253") || !strings.Contains(got[0].Fix, "a range of /23") {
			t.Errorf("%s: %+v", name, got)
		}
	}
}
