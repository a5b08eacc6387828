package compare

import (
	"deployer/cluster"
)

// InUse is the state of a cluster in use, as far as a run must respect it before it changes
// anything.
type InUse struct {
	// Hosts has one entry for each host of the run.
	Hosts map[string]HostInUse
	// Etcd is the running etcd cluster; nil when no member answers.
	Etcd *cluster.EtcdLive
	// Nodes are the Node objects; nil when no API server answers.
	Nodes []NodeInUse
	// Services is the range of Services; nil when no API server answers.
	Services *ServicesInUse
	// Pools are Calico's pools; nil when no API server answers, and without Calico.
	Pools []PoolInUse
	// Blocks are read by a run of network change-plugin, and when the inventory has new pools of Calico
	// ([PoolsAreNew]).
	Blocks []BlockInUse
	// Policies are the names of NetworkPolicies, and of objects of Calico that others than deployer have
	// written, with their kinds; read by a run of network change-plugin only.
	Policies []string
	// Leaving are the nodes and members that the run takes out of the cluster.
	Leaving []string
	// ChangesPlugin is true for a run that replaces the network plugin of nodes in use.
	ChangesPlugin bool
	// DropsPolicies is true when the user accepts that no policy is enforced any more.
	DropsPolicies bool
}

// HostInUse is what the files of a host say about the components that run there. An empty
// value means that the host has no such component.
type HostInUse struct {
	Node         string   // name of the host's node
	Member       string   // name of the host's etcd member
	Domain       string   // domain of the names of Services that the kubelet gives to pods
	IssuerDomain string   // domain in the issuer of the API server's tokens
	ServiceCIDR  string   // range of Services of the API server
	Plugin       string   // network plugin of the host's node
	Calico       string   // version of calico-node on the host's node, such as v3.31.7
	Datastore    string   // where Calico has its objects: kubernetes or etcd; empty without calico-node
	KubeProxy    string   // runs or none: whether the host's node has a kube-proxy
	APIProxy     string   // program of the host's API proxy: nginx or haproxy
	CNI          string   // plugin that connects pods: bridge or ptp
	PodCIDR      string   // pod ranges in the network configuration, separated by commas
	MaxPods      int      // maximum number of pods of the kubelet; 0: not known
	VirtualIPs   []string // virtual addresses of the API that the host may have
	Peers        []string // names of the hosts with which it has BGP sessions
}

// NodeInUse is a Node object.
type NodeInUse struct {
	Name    string
	PodCIDR string // pod ranges, separated by commas
}

// ServicesInUse is the range of Services as the API has it.
type ServicesInUse struct {
	CIDRs []string // of the ServiceCIDR kubernetes; empty for an API without ServiceCIDR objects
	IP    string   // cluster IP of the Service kubernetes
}

// Conflict is a reason why a run must not change a cluster in use.
type Conflict struct {
	Host    string // empty: the cluster as a whole
	Subject string // what the reason is about, in one or two words
	Detail  string // the reason
	Fix     string // what to do
}

// Conflicts returns all reasons why a run must not change a cluster in use: hosts that are
// other nodes than the inventory says, nodes and members that it does not name, and settings
// that a cluster in use cannot follow. Conflicts of one host come in inventory order, behind
// them those of the cluster.
func Conflicts(want *cluster.Cluster, found InUse) []Conflict {
	out := Identities(want, found)
	out = append(out, unnamed(want, found)...)
	out = append(out, podRanges(want, found)...)
	out = append(out, podCapacity(want, found)...)
	out = append(out, serviceRange(want, found)...)
	out = append(out, domainChange(want, found)...)
	out = append(out, pluginChange(want, found)...)
	out = append(out, datastoreChange(want, found)...)
	out = append(out, poolChanges(want, found)...)
	out = append(out, calicoDowngrade(want, found)...)
	out = append(out, kubeProxyChange(want, found)...)
	out = append(out, virtualAddress(want, found)...)
	return append(out, apiProxyDefault(want, found)...)
}
