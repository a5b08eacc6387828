package cluster

import (
	"cmp"
	"fmt"
	"strconv"
	"strings"
	"time"
)

// Explanation says why a setting that depends on the size of the cluster has its value.
type Explanation struct {
	Setting  string `json:"setting"`  // COMPONENT.NAME
	Value    string `json:"value"`    // value in this cluster
	Default  string `json:"default"`  // value of the component or of Kubernetes that it replaces
	Reason   string `json:"reason"`   // why the cluster has the value
	Source   string `json:"source"`   // where the rule comes from
	Override string `json:"override"` // key of the inventory that sets another value
}

// IsDefault reports whether the cluster has the value that the component has anyway.
func (e Explanation) IsDefault() bool { return e.Value == e.Default }

// bySize returns the explanation of a setting to which the rules give a value; when the cluster has
// another one, the inventory is the reason.
func (e Explanation) bySize(value string) Explanation {
	if e.Value != value {
		e.Reason = "set in the inventory; by the size of the cluster it would be " + value
	}
	return e
}

// largeClusters is Kubernetes' documentation of large clusters, where the sizes of masters change
// at 10, 100 and 500 nodes.
const largeClusters = "kubernetes.io/docs/setup/best-practices/cluster-large"

// Explain returns the settings that depend on the size of the cluster, by component.
func (c *Cluster) Explain() []Explanation {
	s, rules := c.Size, controlProfile(c.Size.Name)
	out := []Explanation{{
		Setting: "cluster.size", Value: s.Name, Default: SizeSmall, Override: "cluster.size", Source: largeClusters,
		Reason: fmt.Sprintf("%s: small up to 10, medium up to 100, large up to 500, xlarge above", nodesText(s.Nodes)),
	}}
	out = append(out, c.explainRanges())
	out = append(out, c.explainControlPlane(rules)...)
	out = append(out, s.explainProxy(rules, len(c.Masters))...)
	out = append(out, c.explainDNS()...)
	out = append(out, c.explainNetwork()...)
	return append(out, c.explainNeighbors()...)
}

func nodesText(n int) string {
	if n == 1 {
		return "1 node"
	}
	return strconv.Itoa(n) + " nodes"
}

// explainControlPlane explains the settings of API servers, their clients and etcd; values are those of
// the first master.
func (c *Cluster) explainControlPlane(rules SizeProfile) []Explanation {
	const (
		kubeUp = "cluster/gce/gci/configure-kubeapiserver.sh of Kubernetes: 1500 and 500 above 500 nodes"
		rates  = "Kubernetes' own scale tests (perf-tests, clusterloader2) run with 100 and more"
	)
	args := map[string][]string{}
	if len(c.Masters) > 0 {
		a := c.Nodes[c.Masters[0]].Args
		args = map[string][]string{componentAPIServer: a.APIServer, componentControllerManager: a.ControllerManager, componentScheduler: a.Scheduler}
	}
	flag := func(component, name string, value int, standard, reason, source string) Explanation {
		e := Explanation{
			Setting: component + "." + name, Value: strconv.Itoa(value), Default: standard, Reason: reason, Source: source,
			Override: "cluster.overrides." + component + ".extra_args." + name,
		}
		for _, arg := range args[component] {
			if set, ok := strings.CutPrefix(arg, "--"+name+"="); ok {
				e.Value = set
			}
		}
		return e.bySize(strconv.Itoa(value))
	}
	s := c.Size
	inFlight := "one of three API servers may be down, and the others serve the requests of " + nodesText(s.Nodes)
	evictions := "a node that dies is 110 evictions and as many bindings, and a rack of nodes dies at once"
	return []Explanation{
		flag(componentAPIServer, "max-requests-inflight", rules.RequestsInflight, "400", inFlight, kubeUp),
		flag(componentAPIServer, "max-mutating-requests-inflight", rules.MutatingInflight, "200", inFlight, kubeUp),
		flag(componentControllerManager, "kube-api-qps", rules.ControllerQPS, "20", evictions, rates),
		flag(componentControllerManager, "kube-api-burst", rules.ControllerBurst, "30",
			"its controllers ask about a hundred things while they start: 3.9 s with a burst of 30, 0.4 s with 200", "measured with v1.36.3"),
		flag(componentScheduler, "kube-api-qps", rules.SchedulerQPS, "50", evictions, rates),
		flag(componentScheduler, "kube-api-burst", rules.SchedulerBurst, "100", evictions, rates),
		Explanation{
			Setting: "etcd.quota-backend-bytes", Value: bytesText(s.EtcdQuotaBytes), Default: "2 GiB", Override: "cluster.etcd.quota_backend_bytes",
			Reason: "objects of " + nodesText(s.Nodes) + "; a quota reserves nothing, but a member that joins copies the whole database",
			Source: "etcd.io/docs/v3.6/dev-guide/limit: 8 GiB at most",
		}.bySize(bytesText(rules.EtcdQuotaBytes)),
	}
}

func bytesText(n int64) string {
	if n%gib == 0 {
		return fmt.Sprintf("%d GiB", n/gib)
	}
	return fmt.Sprintf("%d bytes", n)
}

func mebibytes(n int) string { return fmt.Sprintf("%d MiB", n) }

// explainProxy explains the settings of the API proxies, and what follows from them.
func (s SizeProfile) explainProxy(rules SizeProfile, masters int) []Explanation {
	delay := time.Duration(0)
	if masters > 1 {
		delay = s.ProxyCheckInterval + time.Second
	}
	return []Explanation{
		Explanation{
			Setting: "proxy.worker_connections", Value: strconv.Itoa(s.ProxyConnections), Default: "1024", Override: "cluster.proxy.worker_connections",
			Reason: "a node has two to four connections to the API; a load balancer of role proxy carries those of every client",
			Source: "nginx needs two for each connection of a client",
		}.bySize(strconv.Itoa(rules.ProxyConnections)),
		Explanation{
			Setting: "proxy.check_interval", Value: shortDuration(s.ProxyCheckInterval), Default: "2s", Override: "cluster.proxy.check_interval",
			Reason: "each check is a TLS handshake, and each API server has those of " + nodesText(s.Nodes),
			Source: "inter of HAProxy",
		}.bySize(shortDuration(rules.ProxyCheckInterval)),
		{
			Setting: "apiserver.shutdown-delay-duration", Value: shortDuration(delay), Default: "0s", Override: "cluster.proxy.check_interval",
			Reason: "an API server that stops beside others serves until its proxies have noticed: a check and a second",
			Source: "kubernetes.io/docs/reference/command-line-tools-reference/kube-apiserver",
		},
	}
}

// explainRanges explains the range of pods.
func (c *Cluster) explainRanges() Explanation {
	return Explanation{
		Setting: "cluster.pod_cidr", Value: strings.Join(c.PodCIDRs, ", "), Default: defaultPodCIDR, Override: "cluster.pod_cidr",
		Reason: fmt.Sprintf("%s with a range of /%d each; it does not change in a cluster in use, so leave room to grow", nodesText(c.Size.Nodes), c.NodePrefix),
		Source: "kubernetes.io/docs/reference/command-line-tools-reference/kube-controller-manager, --cluster-cidr",
	}
}

// explainNetwork explains the BGP sessions of the nodes and Typha. Without BGP and Calico it explains
// nothing.
func (c *Cluster) explainNetwork() []Explanation {
	var out []Explanation
	n := c.Network
	if n.Plugin == PluginBGP || n.Calico.Backend == BackendBIRD {
		e := Explanation{
			Setting: "network.sessions", Value: "mesh", Default: "mesh", Override: "cluster.network.mesh_below, cluster.network.reflectors",
			Reason: fmt.Sprintf("every node has a session with each other: %d on each", max(c.Size.Nodes-1, 0)),
			Source: "docs.tigera.io, Configure BGP peering: a mesh for 100 nodes or less; 50 with plugin bgp",
		}
		if !n.Mesh {
			e.Value = nodesOf(n.Reflectors)
			e.Reason = fmt.Sprintf("a mesh of %s has %d sessions; with reflectors a node has %d", nodesText(c.Size.Nodes), c.Size.Nodes*(c.Size.Nodes-1)/2, min(sessionsPerNode, len(n.Reflectors)))
		}
		out = append(out, e)
	}
	if n.Plugin == PluginCalico {
		out = append(out, Explanation{
			Setting: "calico.typha", Value: strconv.Itoa(len(n.Calico.Typha)), Default: "0", Override: "cluster.network.calico.typha",
			Reason: "from 51 nodes on one process reads for 200 nodes, and two more may be down or start",
			Source: "tigera/operator, GetExpectedTyphaScale",
		})
	}
	return out
}

// nodesOf names reflectors, or the number of many.
func nodesOf(reflectors []string) string {
	if len(reflectors) > 3 {
		return fmt.Sprintf("%d reflectors", len(reflectors))
	}
	return "reflectors " + strings.Join(reflectors, ", ")
}

// explainNeighbors explains the size of the kernel's table of neighbours.
func (c *Cluster) explainNeighbors() []Explanation {
	standard := map[string]string{neighborsKept: "128", neighborsSoft: "512", neighborsMost: "1024"}
	rules := sysctls(Spec{}, c.Size)
	var out []Explanation
	for _, name := range []string{neighborsKept, neighborsSoft, neighborsMost} {
		out = append(out, Explanation{
			Setting: "sysctl." + name, Value: cmp.Or(c.Sysctls[name], standard[name]), Default: standard[name], Override: "cluster.sysctls",
			Reason: "in one layer-2 network a node has an entry for each node and each of its own pods; a full table drops packets",
			Source: "kernel.org, Documentation/networking/ip-sysctl.rst",
		}.bySize(cmp.Or(rules[name], standard[name])))
	}
	return out
}
