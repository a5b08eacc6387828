package cluster

import "fmt"

// Health is one health endpoint of a component on a host, in the form of the
// task http_check.
type Health struct {
	Name     string `json:"name"`     // name of the component
	URL      string `json:"url"`      // URL that answers with status 200 when the component is healthy
	CA       string `json:"ca"`       // path of the CA certificate that must have signed the server certificate; empty: not verified
	Insecure bool   `json:"insecure"` // true when the component serves a self-signed certificate, on loopback
}

// healthOf returns the health endpoints of a host's components. The local API is queried
// through the API server or the local proxy of the host, so that a node which cannot
// reach the API is reported.
func healthOf(c *Cluster, n Node) []Health {
	out := []Health{}
	local := func(name, scheme string, port int, path string, insecure bool) {
		out = append(out, Health{Name: name, URL: fmt.Sprintf("%s://%s%s", scheme, hostPort(localAddress, port), path), Insecure: insecure})
	}
	if n.IsEtcd {
		out = append(out, Health{Name: "etcd", URL: c.Etcd.MetricsURL + "/readyz"})
	}
	if n.EtcdEvents != nil {
		out = append(out, Health{Name: EtcdEvents, URL: c.EtcdEvents.MetricsURL + "/readyz"})
	}
	if n.EtcdCalico != nil {
		out = append(out, Health{Name: EtcdCalico, URL: c.EtcdCalico.MetricsURL + "/readyz"})
	}
	if n.RunsAPIServer {
		local("kube-controller-manager", "https", portControllerManager, "/healthz", true)
		local("kube-scheduler", "https", portScheduler, "/healthz", true)
	}
	if n.RunsAPIServer && c.Keeper.Enabled {
		out = append(out, Health{Name: "keeper", URL: c.Keeper.Health})
	}
	if n.IsNode {
		out = append(out, Health{Name: "API through " + localAddress, URL: c.API.Local + "/readyz", CA: CAPath(AuthorityCluster)})
		local("kubelet", "http", portKubeletHealth, "/healthz", false)
	}
	if n.RunsKubeProxy {
		local("kube-proxy", "http", portKubeProxyHealth, "/livez", false)
	}
	if n.RunsCalico {
		local("Felix", "http", portFelixHealth, "/readiness", false)
	}
	if n.RunsNodeDNS {
		out = append(out, Health{Name: "DNS cache", URL: fmt.Sprintf("http://%s/health", hostPort(c.DNS.NodeLocal.Address, portNodeDNSHealth))})
	}
	if n.RunsTypha {
		local("Typha", "http", portTyphaHealth, "/readiness", false)
	}
	if n.RunsExternalProxy {
		// A host that is not a node has no CA certificate to verify with; the body of the
		// response proves that the API answers.
		out = append(out, Health{
			Name: "API through the proxy", URL: fmt.Sprintf("https://%s/readyz", hostPort(n.IP, c.Proxy.Port)), Insecure: !n.IsNode,
			CA: ifNode(n, CAPath(AuthorityCluster)),
		})
	}
	return out
}

func ifNode(n Node, path string) string {
	if n.IsNode {
		return path
	}
	return ""
}

// unitsOf lists the systemd units that deployer runs on a host.
func unitsOf(c *Cluster, n Node) []string {
	out := []string{}
	if n.IsEtcd {
		out = append(out, "etcd.service")
	}
	if n.EtcdEvents != nil {
		out = append(out, EtcdEvents+".service")
	}
	if n.EtcdCalico != nil {
		out = append(out, EtcdCalico+".service")
	}
	if n.IsNode {
		out = append(out, "containerd.service", "kubelet.service")
		if c.Network.Plugin == PluginBGP {
			out = append(out, "deployer-bird.service", "deployer-pods.service")
		}
	}
	if n.RunsAPIServer && c.Keeper.Enabled {
		out = append(out, unitKeeper)
	}
	if n.IsNode && c.Keeper.Reboots.Enabled {
		out = append(out, unitReboot)
	}
	if n.RunsExternalProxy && !n.IsNode {
		out = append(out, "deployer-proxy.service")
	}
	if n.RunsNodeDNS {
		out = append(out, unitNodeDNS)
	}
	if n.RunsFirewall {
		out = append(out, "deployer-firewall.service")
	}
	if n.RunsWitness {
		out = append(out, unitWitness)
	}
	if n.RunsKeepalived {
		out = append(out, unitKeepalived)
	}
	return out
}
