//go:build lab

package mistakes

import (
	"slices"

	"github.com/google/go-cmp/cmp"

	"deployer/test/harness"
)

// requireRefused requires that install, and a plan of it, end before the first change, say texts,
// and leave every process, file and route of the hosts as it is.
func (s *site) requireRefused(texts ...string) {
	s.T.Helper()
	before := s.state()
	for _, args := range [][]string{{"install"}, {"plan", "install"}} {
		o := s.Deployer(args...)
		s.RequireExit(o, refused)
		s.RequireTexts(o.All(), texts...)
	}
	if diff := cmp.Diff(before, s.state()); diff != "" {
		s.T.Errorf("a refused run has changed (-before +after):\n%s", diff)
	}
}

// state returns what a wrong inventory would change on each host: processes, configurations,
// certificates, routes.
func (s *site) state() map[string][]string {
	s.T.Helper()
	out := map[string][]string{}
	for _, h := range nodes {
		out[h] = []string{
			s.Processes(h),
			s.Shell(h, "find /etc/kubernetes /etc/deployer /etc/cni/net.d /etc/systemd/system /var/lib/kubelet/pki /var/lib/kubelet/config.yaml -type f | sort | xargs sha256sum | sha256sum"),
			s.Shell(h, "ip route | sort"),
		}
	}
	return out
}

// hostsOf returns the hosts of a role of the inventory.
func hostsOf(inv map[string]any, role string) []any {
	list, _ := harness.Section(inv, "roles")[role].([]any)
	return list
}

// without removes hosts from the inventory, as an edit by hand does.
func (s *site) without(names ...string) {
	s.T.Helper()
	s.Edit(func(inv map[string]any) {
		for _, role := range []string{"master", "minion", "etcd"} {
			list := slices.DeleteFunc(hostsOf(inv, role), func(h any) bool {
				name, _ := h.(string)
				return slices.Contains(names, name)
			})
			if list != nil {
				harness.Section(inv, "roles")[role] = list
			}
		}
		for _, name := range names {
			delete(harness.Section(inv, "hosts"), name)
		}
	})
}

// lostHost: a typo has removed a minion from the inventory. Without the refusal its routes, and
// with them half of the pods, would be lost.
func lostHost(s *site) {
	s.without("n2")
	s.requireRefused("nodes that the inventory does not name: n2", "deployer scale-down n2", "deployer scale-down --dead n2")
	o := s.Deployer("upgrade")
	s.RequireExit(o, refused)
}

// lostMasters: only one of three masters is left.
func lostMasters(s *site) {
	s.without("m2", "m3")
	s.requireRefused("nodes that the inventory does not name: m2, m3")
}

// swappedAddresses: each of two minions has the address of the other.
func swappedAddresses(s *site) {
	s.Edit(func(inv map[string]any) {
		one, other := harness.Section(inv, "hosts", "n1"), harness.Section(inv, "hosts", "n2")
		one["address"], other["address"] = other["address"], one["address"]
	})
	s.requireRefused(s.Address("n1")+" is the node n1; the inventory calls it n2", "swapped")
}

// serviceRange, podRange, domain and podNetwork: settings that a cluster in use cannot follow.
func serviceRange(s *site) {
	s.setCluster("10.97.0.0/16", "service_cidr")
	s.requireRefused("service_cidr is 10.97.0.0/16", "10.96.0.0/16")
}

func podRange(s *site) {
	s.setCluster("10.200.0.0/16", "pod_cidr")
	s.requireRefused("pod_cidr is 10.200.0.0/16")
}

func domain(s *site) {
	s.setCluster("other.local", "dns", "domain")
	s.requireRefused("dns.domain is other.local", "dns.former_domains: [cluster.local]")
}

func podNetwork(s *site) {
	s.setCluster("ptp", "network", "cni")
	s.requireRefused("network.cni is ptp")
}

// tooManyPods: more pods than the ranges that nodes keep have addresses. A larger node_prefix holds
// for nodes that join.
func tooManyPods(s *site) {
	s.setCluster(23, "node_prefix")
	s.setCluster(400, "kubelet", "max_pods")
	s.requireRefused("has room for 253 pods, and maxPods is 400", "lower kubelet.max_pods to 253")
}

// setCluster sets a value of the section cluster.
func (s *site) setCluster(value any, path ...string) {
	s.T.Helper()
	last := len(path) - 1
	s.Edit(func(inv map[string]any) {
		harness.Section(inv, append([]string{"cluster"}, path[:last]...)...)[path[last]] = value
	})
}
