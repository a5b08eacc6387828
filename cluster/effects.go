package cluster

import "slices"

// Effects are the effects of a node's configuration that a survey compares with the running
// host, in the form of the task effects_check.
type Effects struct {
	StaticPods  []string `json:"static_pods"`  // names of the manifests
	CNI         string   `json:"cni"`          // name of the file with the pod network's configuration; empty when the host is no node or the pod network comes from elsewhere
	Rules       bool     `json:"rules"`        // true when rules for the traffic of pods must be loaded
	Services    string   `json:"services"`     // mode of kube-proxy, whose rules must be loaded; empty when the host runs none
	NameServers bool     `json:"name_servers"` // true when cluster DNS asks the name servers of the host
	Outside     []string `json:"outside"`      // address and port of API servers on other hosts, which pods must reach; each node has others
	Routers     []string `json:"routers"`      // names of BIRD's sessions with routers outside of the cluster, one of which must be established
}

// effectsOf returns the effects to compare on a host.
func effectsOf(c *Cluster, n Node) Effects {
	e := Effects{StaticPods: manifestsOf(n), Outside: []string{}, Routers: []string{}}
	if n.IsNode {
		if c.Network.Plugin == PluginBGP {
			e.CNI, e.Rules = "10-deployer.conflist", true
		}
		if n.RunsCalico {
			e.CNI = "10-calico.conflist"
		}
		if n.RunsKubeProxy {
			e.Services = c.KubeProxy.Mode
		}
		e.NameServers = len(c.DNS.Upstreams) == 0
		e.Outside = outsideOf(c, n)
		for _, r := range n.BGP.Routers {
			e.Routers = append(e.Routers, r.Session)
		}
	}
	return e
}

// maxOutside is the maximum number of servers that pods of a node try to reach: one may be down.
const maxOutside = 2

// outsideOf returns API servers on other hosts. The nodes share them out in turn, so that each
// server is tried by as many.
func outsideOf(c *Cluster, n Node) []string {
	out := []string{}
	all := c.API.Endpoints
	for i := range all {
		e := all[(max(0, slices.Index(c.NodeNames, n.Name))+i)%len(all)]
		if e.Name != n.Name && len(out) < maxOutside {
			out = append(out, e.HostPort)
		}
	}
	return out
}
