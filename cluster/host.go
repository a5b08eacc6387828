package cluster

import (
	"cmp"
	"net/netip"
	"slices"
)

// The roles of a host. RoleNode cannot be assigned: masters and minions have it in
// common, a kubelet.
const (
	RoleMaster = "master"
	RoleMinion = "minion"
	RoleEtcd   = "etcd"
	RoleProxy  = "proxy"
	RoleNode   = "node"
)

// Host is the inventory's description of one machine.
type Host struct {
	Name            string            // name of the host and of its Kubernetes node; unique
	Address         string            // address of the SSH server: an IP address or a name
	NodeAddress     string            // IP address at which the other hosts reach the host, and one of the other family after a comma; empty when it is Address
	ExternalAddress string            // IP address or name at which clients outside of the cluster reach the host; empty when it is that of the node
	Roles           []string          // roles of the host, each one of the Role constants
	Overrides       map[string]any    // settings by component, merged from groups and host
	Labels          map[string]string // labels of the Kubernetes node
	Taints          []string          // taints of the Kubernetes node, as key=value:Effect
}

func (h Host) has(role string) bool { return slices.Contains(h.Roles, role) }

// isNode reports whether the host runs a kubelet.
func (h Host) isNode() bool { return h.has(RoleMaster) || h.has(RoleMinion) }

// ip returns the address at which the other hosts reach the host; the zero Addr when it is not an
// IP address.
func (h Host) ip() netip.Addr {
	if all := h.ips(); len(all) > 0 {
		return all[0]
	}
	return netip.Addr{}
}

// ips returns the addresses of the host, the one at which the other hosts reach it first; none when
// one of them is not an IP address.
func (h Host) ips() []netip.Addr {
	var out []netip.Addr
	for _, text := range SplitList(cmp.Or(h.NodeAddress, h.Address)) {
		a, err := netip.ParseAddr(text)
		if err != nil {
			return nil
		}
		out = append(out, a.Unmap())
	}
	return out
}

// placement lists the hosts of each function, names in inventory order.
type placement struct {
	masters, minions, etcd, proxies, nodes []string
	etcdDedicated                          bool // etcd hosts were named
	schedulableMasters                     bool
}

// place applies the rules of placement: etcd runs on the masters unless hosts are named
// for it; every master and minion is a node; masters take ordinary pods only when no
// other node exists, unless the spec requests it.
func place(spec Spec, hosts []Host) placement {
	var p placement
	for _, h := range hosts {
		if h.has(RoleMaster) {
			p.masters = append(p.masters, h.Name)
		}
		if h.has(RoleMinion) {
			p.minions = append(p.minions, h.Name)
		}
		if h.has(RoleEtcd) {
			p.etcd = append(p.etcd, h.Name)
		}
		if h.has(RoleProxy) {
			p.proxies = append(p.proxies, h.Name)
		}
		if h.isNode() {
			p.nodes = append(p.nodes, h.Name)
		}
	}
	p.etcdDedicated = len(p.etcd) > 0
	if !p.etcdDedicated {
		p.etcd = slices.Clone(p.masters)
	}
	p.schedulableMasters = len(p.minions) == 0
	if spec.Schedulable != nil {
		p.schedulableMasters = *spec.Schedulable
	}
	return p
}

// taintsMaster reports whether a host's node repels ordinary pods. A host that is master
// and minion takes them.
func (p placement) taintsMaster(h Host) bool {
	return h.has(RoleMaster) && !h.has(RoleMinion) && !p.schedulableMasters
}

// sharesMaster reports whether a host is both proxy and master.
func (p placement) sharesMaster() bool {
	return slices.ContainsFunc(p.proxies, func(n string) bool { return slices.Contains(p.masters, n) })
}
