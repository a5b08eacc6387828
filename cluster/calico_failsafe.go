package cluster

import "slices"

// failsafePorts returns the ports that stay open on host endpoints whatever a policy says: those of
// Calico's defaults (SSH, DHCP and DNS), those by which the hosts of a cluster reach each other, and those by
// which a host reaches itself. A protocol without ports, such as VRRP, can be none of them.
func failsafePorts(s Spec, p placement) (inbound, outbound []any) {
	inbound, outbound = []any{failsafe("TCP", 22), failsafe("UDP", 68)}, []any{failsafe("UDP", 53), failsafe("UDP", 67)}
	if s.DNS.NodeLocal.Enabled {
		outbound = append(outbound, failsafe("TCP", 53)) // the DNS cache of a node asks cluster DNS
	}
	for _, number := range clusterFailsafe(s, p) {
		inbound, outbound = append(inbound, failsafe("TCP", number)), append(outbound, failsafe("TCP", number))
	}
	// The endpoint of all interfaces includes the loopback one.
	for _, l := range hostFailsafe(s) {
		inbound, outbound = append(inbound, l), append(outbound, l)
	}
	return inbound, outbound
}

// clusterFailsafe returns the TCP ports by which the hosts of a cluster reach each other, and clients the
// API: all ports of [checker.portsOf] that are needed by the cluster. Each host has all of them open in both
// directions, as there is one list for all hosts: a port is closed anyway where nothing listens.
func clusterFailsafe(s Spec, p placement) []int {
	ports := []int{179, portEtcdClient, portEtcdPeer, portTypha, s.API.Port, portKubelet}
	if s.Etcd.Events.Enabled {
		ports = append(ports, portEventsClient, portEventsPeer)
	}
	if s.Network.usesEtcd() {
		ports = append(ports, portCalicoClient, portCalicoPeer)
	}
	if s.API.VirtualIP.Address != "" {
		ports = append(ports, s.API.VirtualIP.WitnessPort)
	}
	if port := proxyPort(s, p); len(p.proxies) > 0 && port != s.API.Port {
		ports = append(ports, port)
	}
	if len(p.proxies) > 0 && s.Proxy.TLS.Used() && !slices.Contains(ports, s.Proxy.TLS.Port) {
		ports = append(ports, s.Proxy.TLS.Port)
	}
	return ports
}

// hostFailsafe returns the entries of the ports of [checker.portsOf] that are needed by the host itself, such
// as those of health checks: without them the kubelet restarts the controllers of a closed master.
func hostFailsafe(s Spec) []any {
	ports := []int{portKubeletHealth, portFelixHealth, portTyphaHealth, portControllerManager, portScheduler}
	if s.KubeProxy.Mode != KubeProxyNone {
		ports = append(ports, portKubeProxyMetrics, portKubeProxyHealth)
	}
	urls := []string{s.Etcd.MetricsURL}
	if s.Etcd.Events.Enabled {
		urls = append(urls, s.Etcd.Events.MetricsURL)
	}
	if s.Network.usesEtcd() {
		urls = append(urls, s.Network.Calico.Etcd.MetricsURL)
	}
	for _, url := range urls {
		if port, ok := urlPort(url); ok {
			ports = append(ports, port)
		}
	}
	if *s.Keeper.Enabled {
		ports = append(ports, s.Keeper.port())
	}
	var out []any
	for _, port := range ports {
		out = append(out, failsafeAt(loopback, port))
	}
	if families := s.families(); s.DNS.NodeLocal.Enabled && len(families) > 0 {
		cache := s.DNS.NodeLocal.resolve(families[0]).Prefix
		for _, port := range []int{portNodeDNS, portNodeDNSMetrics, portNodeDNSHealth, portNodeDNSReady} {
			out = append(out, failsafeAt(cache, port))
		}
	}
	return out
}

// loopback is the network of the loopback addresses that components listen at.
const loopback = "127.0.0.0/8"

// failsafe returns an entry of Felix's lists of failsafe ports.
func failsafe(protocol string, port int) any {
	return map[string]any{"protocol": protocol, "port": port}
}

// failsafeAt returns an entry for a TCP port at addresses of the host itself.
func failsafeAt(network string, port int) any {
	return map[string]any{"protocol": "TCP", "port": port, "net": network}
}
