package cluster

// EtcdUser is a user of an etcd cluster with users. Its name is the common name of its certificates, and
// it has one role of the same name.
type EtcdUser struct {
	Name   string
	Rights []EtcdRight
}

// EtcdRight is the right of a user to all keys that begin with a prefix.
type EtcdRight struct {
	Prefix string
	Write  bool // false: read only
}

// calicoResources is the prefix of the keys of Calico's objects; the plural of the kind follows.
const calicoResources = "/calico/resources/v3/projectcalico.org/"

// CalicoEtcdUsers returns the users of Calico's etcd cluster besides root, with the key ranges that
// Calico's documentation lists (docs.tigera.io, "Calico key and path prefixes"). Four rights go beyond
// it, because the programs of v3.28 to v3.31 need them: calico-node writes the states of sessions that an
// object CalicoNodeStatus asks for (node/pkg/status/reporter.go), the CNI plugin reads reservations of
// addresses (libcalico-go/lib/ipam), the controllers write the labels of pods to workload endpoints
// (kube-controllers/pkg/controllers/pod), and from v3.29 on both make the tiers of policies.
func CalicoEtcdUsers() []EtcdUser {
	return []EtcdUser{
		{EtcdUserCalicoNode, rights(
			[]string{"/calico/felix/v1/", "/calico/felix/v2/", "/calico/ipam/v2/"},
			[]string{"felixconfigurations", "nodes", "workloadendpoints", "clusterinformations", "ippools", "caliconodestatuses", "tiers"},
			"")},
		{EtcdUserCalicoCNI, rights(
			[]string{"/calico/ipam/v2/"},
			[]string{"workloadendpoints"},
			"ippools", "clusterinformations", "nodes", "ipreservations")},
		{EtcdUserCalicoControllers, rights(
			[]string{"/calico/ipam/v2/"},
			[]string{"profiles", "networkpolicies", "nodes", "clusterinformations", "hostendpoints", "kubecontrollersconfigurations", "workloadendpoints", "tiers"},
			"")},
		{EtcdUserCalicoctl, []EtcdRight{{"/calico/ipam/v2/", true}, {calicoResources, true}}},
	}
}

// rights returns rights to write keys and kinds, and to read kinds; an empty one stands for all.
func rights(keys, kinds []string, read ...string) []EtcdRight {
	var out []EtcdRight
	for _, key := range keys {
		out = append(out, EtcdRight{key, true})
	}
	for _, kind := range kinds {
		out = append(out, EtcdRight{calicoResources + kind + "/", true})
	}
	for _, kind := range read {
		prefix := calicoResources
		if kind != "" {
			prefix += kind + "/"
		}
		out = append(out, EtcdRight{prefix, false})
	}
	return out
}
