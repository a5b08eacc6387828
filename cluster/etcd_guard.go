package cluster

import (
	"net/url"
	"slices"
)

// EtcdGuard is what guards members of etcd against drains: a pod on each host with a member, which is ready
// while its member serves, and a PodDisruptionBudget of these pods, as OpenShift's cluster-etcd-operator has
// them. An eviction from a node is refused while another member does not serve.
type EtcdGuard struct {
	Nodes []string `json:"nodes"` // nodes with a member; empty: nothing guards the members
	// Taints are the keys of taints of these nodes.
	Taints []string `json:"taints"`
	Host   string   `json:"host"` // where a member serves its health on its own host
	Port   int      `json:"port"` // of the same
}

// guardedMembers is the least number of members that are guarded: with fewer, no drain would ever be possible.
const guardedMembers = 3

func (r *resolver) etcdGuard() EtcdGuard {
	none := EtcdGuard{Nodes: []string{}, Taints: []string{}}
	if !*r.spec.Etcd.Guard || len(r.place.etcd) < guardedMembers {
		return none
	}
	metrics, err := url.Parse(r.spec.Etcd.MetricsURL)
	if err != nil || metrics.Scheme != "http" {
		return none // a kubelet's probe trusts no authority of the cluster
	}
	// A master has this taint when the first minion joins.
	out := EtcdGuard{Nodes: []string{}, Taints: []string{controlPlane}}
	for _, name := range r.place.etcd {
		h := r.host(name)
		if !h.isNode() {
			return none // a member that no pod stands for might be the one that does not serve
		}
		out.Nodes = append(out.Nodes, name)
		for _, t := range r.taints(h) {
			if !slices.Contains(out.Taints, t.Key) {
				out.Taints = append(out.Taints, t.Key)
			}
		}
	}
	out.Host = fromItself(metrics.Hostname())
	out.Port, _ = urlPort(r.spec.Etcd.MetricsURL) // Validate has checked it
	return out
}
