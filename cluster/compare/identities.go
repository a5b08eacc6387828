package compare

import (
	"fmt"

	"deployer/cluster"
)

// Identities returns the hosts that are another node or member than the inventory says. A
// host without a kubelet and etcd, such as a reinstalled one, is nothing yet.
func Identities(want *cluster.Cluster, found InUse) []Conflict {
	holders := map[string]string{} // host by the name of its node or member
	for _, name := range want.Order {
		h := found.Hosts[name]
		for _, own := range []string{h.Node, h.Member} {
			if own != "" && holders[own] == "" {
				holders[own] = name
			}
		}
	}
	var out []Conflict
	for _, name := range want.Order {
		h := found.Hosts[name]
		for _, is := range []struct{ what, name string }{{"node", h.Node}, {"etcd member", h.Member}} {
			if is.name == "" || is.name == name {
				continue
			}
			out = append(out, Conflict{
				Host: name, Subject: "identity",
				Detail: fmt.Sprintf("%s is the %s %s; the inventory calls it %s", want.Nodes[name].IP, is.what, is.name, name),
				Fix:    identityAdvice(want, name, is.name, holders[name]),
			})
			break // the member has the name of the node
		}
	}
	return out
}

// identityAdvice returns what to do about a host that is the node is. other is the host
// that is the node of this name; empty for none.
func identityAdvice(want *cluster.Cluster, name, is, other string) string {
	_, named := want.Nodes[is]
	switch {
	case named && other == is:
		return fmt.Sprintf("the addresses of %s and %s are swapped in the inventory: correct both", name, is)
	case named:
		return fmt.Sprintf("correct the addresses of %s and %s in the inventory; when the machine shall become %s, reset it or install its system again first", name, is, name)
	}
	return fmt.Sprintf("call it %s in the inventory again; a node gets another name only when it leaves and joins: deployer scale-down %s, then rename it, then deployer scale-up %s. When the machine belongs to another cluster, correct the address", is, is, name)
}
