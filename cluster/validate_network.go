package cluster

import "slices"

// port is a port with its listener.
type port struct {
	key    string // of the spec, or empty when nobody can change it
	name   string
	number int
	needed neededBy
}

// neededBy says who must reach a port.
type neededBy string

// Values of neededBy. Those of the cluster are failsafe ports of Calico (clusterFailsafe).
const (
	byCluster neededBy = "cluster" // other hosts of the cluster, or clients of the API
	byHost    neededBy = "host"    // the host itself, or programs without which the cluster works, such as those that read metrics
)

// checkPorts reports two listeners on one port of one host, and invalid port numbers.
func (c *checker) checkPorts() {
	valid := func(key string, number int) bool {
		if number >= 1 && number <= 65535 {
			return true
		}
		c.add("bad-port", key, "%d is not a port: use 1 to 65535", number)
		return false
	}
	proxy := proxyPort(c.spec, c.place)
	okAPI := valid("cluster.api.port", c.spec.API.Port)
	valid("cluster.api.virtual_ip.witness_port", c.spec.API.VirtualIP.WitnessPort)
	okProxy := c.spec.Proxy.Port == 0 || valid("cluster.proxy.port", proxy)
	okProxy = (!c.spec.Proxy.TLS.Used() || valid("cluster.proxy.tls.port", c.spec.Proxy.TLS.Port)) && okProxy
	metrics, okMetrics := urlPort(c.spec.Etcd.MetricsURL)
	if !okMetrics {
		c.add("bad-url", "cluster.etcd.metrics_url", "%q is not an address such as http://127.0.0.1:2381", c.spec.Etcd.MetricsURL)
	}
	if !okAPI || !okProxy || !okMetrics {
		return
	}
	reported := map[port]bool{} // one line for a key, not one for each host
	for _, h := range c.hosts {
		ports := c.portsOf(h, proxy, metrics)
		for i, a := range ports {
			for _, b := range ports[:i] {
				key := a.key
				if key == "" {
					key = b.key
				}
				clash := port{key: key, number: a.number}
				if a.number != b.number || reported[clash] {
					continue
				}
				reported[clash] = true
				c.add("port-clash", key, "%s and %s would both listen on port %d of %s: choose another port", b.name, a.name, a.number, h.Name)
			}
		}
	}
}

// portsOf lists the ports of a host, the fixed ones first. A local proxy stands
// in for the API server, on loopback, so an external one may share its port.
func (c *checker) portsOf(h Host, proxy, metrics int) []port {
	var out []port
	node := h.isNode()
	if node {
		out = append(out, port{name: "the kubelet", number: portKubelet, needed: byCluster}, port{name: "the kubelet's health check", number: portKubeletHealth, needed: byHost})
		if c.spec.KubeProxy.Mode != KubeProxyNone {
			out = append(out, port{name: "kube-proxy's metrics", number: portKubeProxyMetrics, needed: byHost}, port{name: "kube-proxy's health check", number: portKubeProxyHealth, needed: byHost})
		}
		if c.spec.DNS.NodeLocal.Enabled {
			out = append(out, port{name: "the DNS cache", number: portNodeDNS, needed: byHost}, port{name: "the DNS cache's metrics", number: portNodeDNSMetrics, needed: byHost},
				port{name: "the DNS cache's health check", number: portNodeDNSHealth, needed: byHost}, port{name: "the DNS cache's readiness check", number: portNodeDNSReady, needed: byHost})
		}
		if c.spec.Network.routesByBGP() {
			out = append(out, port{name: "BIRD", number: 179, needed: byCluster})
		}
		if c.spec.Network.Plugin == PluginCalico {
			out = append(out, port{name: "Felix's health check", number: portFelixHealth, needed: byHost}, port{name: "Typha", number: portTypha, needed: byCluster}, port{name: "Typha's health check", number: portTyphaHealth, needed: byHost})
		}
	}
	if slices.Contains(c.place.etcd, h.Name) {
		out = append(out, port{name: "etcd", number: portEtcdClient, needed: byCluster}, port{name: "etcd's peer port", number: portEtcdPeer, needed: byCluster},
			port{"cluster.etcd.metrics_url", "etcd's metrics", metrics, byHost})
		out = append(out, c.spec.Etcd.Events.ports()...)
		out = append(out, c.spec.Network.calicoEtcdPorts()...)
	}
	if h.has(RoleMaster) {
		out = append(out, port{name: "the controller manager", number: portControllerManager, needed: byHost}, port{name: "the scheduler", number: portScheduler, needed: byHost},
			port{"cluster.api.port", "the API server", c.spec.API.Port, byCluster})
		if *c.spec.Keeper.Enabled {
			out = append(out, port{"cluster.keeper.metrics_address", "the keeper's metrics", c.spec.Keeper.port(), byHost})
		}
	} else if node && !(h.has(RoleProxy) && proxy == c.spec.API.Port) {
		out = append(out, port{"cluster.api.port", "the local API proxy", c.spec.API.Port, byHost})
	}
	if c.spec.API.VirtualIP.Address != "" && slices.Contains(c.place.witnesses(c.hosts), h.Name) {
		out = append(out, port{"cluster.api.virtual_ip.witness_port", "the witness of the virtual address", c.spec.API.VirtualIP.WitnessPort, byCluster})
	}
	if h.has(RoleProxy) {
		out = append(out, port{"cluster.proxy.port", "the API proxy", proxy, byCluster})
		if c.spec.Proxy.TLS.Used() {
			out = append(out, port{"cluster.proxy.tls.port", "the API proxy with a certificate of your own", c.spec.Proxy.TLS.Port, byCluster})
		}
	}
	return out
}

// checkReflectorLabel refuses a label that chooses no reflectors.
func (c *checker) checkReflectorLabel() {
	const key = "cluster.network.reflector_label"
	n := c.spec.Network
	switch {
	case !n.routesByBGP():
		c.add("unused-reflector-label", key, "deployer sets up no BGP sessions with this pod network: remove it")
	case len(n.Reflectors) > 0:
		c.add("unused-reflector-label", key, "network.reflectors names the reflectors: remove one of the two")
	case n.BGP.RackLabel != "":
		c.add("unused-reflector-label", key, "nodes have sessions inside of their racks (network.bgp.rack_label), where reflectors are chosen from mesh_below nodes on: remove it")
	case !slices.ContainsFunc(c.hosts, func(h Host) bool { return h.isNode() && h.Labels[n.ReflectorLabel] != "" }):
		c.add("unused-reflector-label", key, "no node has the label %s: give it to hosts or groups", n.ReflectorLabel)
	}
}

// checkNetwork checks route reflectors and the numbers of the pod network.
func (c *checker) checkNetwork() {
	n := c.spec.Network
	seen := map[string]bool{}
	if n.ReflectorLabel != "" {
		c.checkReflectorLabel()
	}
	if n.Plugin == PluginNone && len(n.Reflectors) > 0 {
		c.add("unused-reflectors", "cluster.network.reflectors", "with network.plugin: %s deployer sets up no BGP sessions: remove them", n.Plugin)
		return
	}
	for _, name := range n.Reflectors {
		if seen[name] {
			c.add("duplicate-reflector", "cluster.network.reflectors", "%s is named twice: remove one", name)
			continue
		}
		seen[name] = true
		known := slices.ContainsFunc(c.hosts, func(h Host) bool { return h.Name == name })
		switch {
		case !known:
			c.add("unknown-reflector", "cluster.network.reflectors", "there is no host %q", name)
		case !slices.Contains(c.place.nodes, name):
			c.add("reflector-not-a-node", "cluster.network.reflectors", "%s is neither master nor minion, so it has no BIRD: name a node", name)
		}
	}
	if len(seen) == 1 && len(c.place.nodes) > 1 && !c.spec.AllowSingleRR {
		c.add("single-reflector", "cluster.network.reflectors", "with one reflector its failure cuts the pod network: name two, or set allow_single_reflector: true")
	}
	if reservedASN(n.ASN) {
		c.add("bad-asn", "cluster.network.asn", "%d is a reserved number: use a private one such as 64512", n.ASN)
	}
	if n.MTU != 0 && (n.MTU < 576 || n.MTU > 65535) {
		c.add("bad-mtu", "cluster.network.mtu", "%d is not an MTU: use 576 to 65535, or 0 for the default", n.MTU)
	}
	if n.MeshBelow < 1 {
		c.add("bad-mesh", "cluster.network.mesh_below", "%d is not a number of nodes", n.MeshBelow)
	}
	if n.NodesPerReflector < 1 {
		c.add("bad-mesh", "cluster.network.nodes_per_reflector", "%d is not a number of nodes", n.NodesPerReflector)
	}
}
