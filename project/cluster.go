package project

import (
	"cmp"
	"errors"
	"fmt"
	"slices"

	"deployer/cluster"
	"deployer/inventory"
	"deployer/strictyaml"
)

// ClusterSpec reads the cluster section of an inventory. Its errors are of type
// strictyaml.Errors.
func ClusterSpec(inv *inventory.Inventory) (cluster.Spec, error) {
	var spec cluster.Spec
	err := strictyaml.DecodeAs(inv.File, "cluster", inv.Cluster, &spec)
	return spec, err
}

// ResolveCluster resolves the cluster that an inventory describes. kubernetes overrides the
// version of the inventory; empty: the inventory's. offered are the versions,
// by artifact name, that the source of artifacts has instead of the default ones;
// versions of the inventory take precedence. Errors name file and line, or are
// cluster.Problems.
func ResolveCluster(inv *inventory.Inventory, kubernetes string, offered map[string]string) (*cluster.Cluster, error) {
	return resolveChanged(inv, kubernetes, offered, nil, sourceFiles{})
}

// resolveChanged resolves the cluster as [ResolveCluster] does, with the roles that change gives
// the hosts; nil changes none. With change an even number of etcd members is allowed: the
// cluster has it until the inventory names another one.
func resolveChanged(inv *inventory.Inventory, kubernetes string, offered map[string]string, change func([]cluster.Host) []cluster.Host, files sourceFiles) (*cluster.Cluster, error) {
	spec, err := ClusterSpec(inv)
	if err != nil {
		return nil, err
	}
	if err := requireNodeAddresses(inv); err != nil {
		return nil, err
	}
	if err := readRegistryPasswords(inv, &spec, files); err != nil {
		return nil, err
	}
	if err := readKeeperRules(inv, &spec.Keeper, files); err != nil {
		return nil, err
	}
	if err := readProxyCertificate(inv, &spec.Proxy.TLS, files); err != nil {
		return nil, err
	}
	spec.Etcd.AllowEven = spec.Etcd.AllowEven || change != nil
	spec.Kubernetes = cmp.Or(kubernetes, spec.Kubernetes)
	fillVersions(&spec.Versions, offered)
	hosts := make([]cluster.Host, 0, len(inv.Hosts))
	for _, h := range inv.Hosts {
		hosts = append(hosts, cluster.Host{
			Name:            h.Name,
			Address:         h.Address,
			NodeAddress:     h.NodeAddress,
			ExternalAddress: h.ExternalAddress,
			Roles:           h.Roles,
			Overrides:       h.Overrides,
			Labels:          h.Labels,
			Taints:          h.Taints,
		})
	}
	if change != nil {
		hosts = change(hosts)
	}
	c, err := cluster.Resolve(spec, hosts)
	var problems cluster.Problems
	if err != nil && !errors.As(err, &problems) {
		return nil, fmt.Errorf("%s: %w", inv.File, err)
	}
	if err != nil {
		return c, err
	}
	if problems = cluster.PlainSecrets(c, func(text string) bool { return slices.Contains(inv.Secrets(), text) }); len(problems) > 0 {
		return nil, problems
	}
	return c, nil
}

// requireNodeAddresses returns an error unless the node addresses that are chosen among those of the
// hosts are known.
func requireNodeAddresses(inv *inventory.Inventory) error {
	missing := inv.WithoutNodeAddress()
	if len(missing) == 0 {
		return nil
	}
	first, _ := inv.Host(missing[0])
	return first.Pos.Errorf("%s selects the node addresses of %s among those that the hosts have, which are not known yet: run `deployer inventory addresses -i %s`, which writes %s, or give them node_address",
		first.NodeAddressChoice, inventory.CompressText(missing), inv.File, inventory.NodeAddressesFile(inv.File))
}

// fillVersions sets the versions that the inventory does not name.
func fillVersions(v *cluster.Versions, offered map[string]string) {
	v.Etcd = cmp.Or(v.Etcd, offered["etcd"])
	v.Containerd = cmp.Or(v.Containerd, offered["containerd"])
	v.Runc = cmp.Or(v.Runc, offered["runc"])
	v.CNI = cmp.Or(v.CNI, offered["cni-plugins"])
	v.CoreDNS = cmp.Or(v.CoreDNS, offered["coredns"])
	v.Pause = cmp.Or(v.Pause, offered["pause"])
	v.Nginx = cmp.Or(v.Nginx, offered["nginx"])
	v.HAProxy = cmp.Or(v.HAProxy, offered["haproxy"])
	v.Calico = cmp.Or(v.Calico, offered["calico"])
}

// ClusterVersions returns the versions of all artifacts of a cluster, by artifact name, without
// those that overrides of hosts name.
func ClusterVersions(c *cluster.Cluster) map[string]string {
	v := c.Versions
	out := map[string]string{
		"etcd": v.Etcd, "containerd": v.Containerd, "runc": v.Runc, "cni-plugins": v.CNI,
		"coredns": v.CoreDNS, "pause": v.Pause, "nginx": v.Nginx, "haproxy": v.HAProxy,
	}
	for _, name := range []string{"kubelet", "kubectl", "kube-apiserver", "kube-controller-manager", "kube-scheduler", "kube-proxy"} {
		out[name] = v.Kubernetes
	}
	for _, name := range []string{"calico-node", "calico-cni", "calico-typha", "calico-kube-controllers", "calicoctl", "calico-crds"} {
		out[name] = v.Calico
	}
	return out
}

// neededVersions returns every version of each artifact that some host needs, by artifact
// name, in inventory order of the hosts.
func neededVersions(c *cluster.Cluster) map[string][]string {
	out := map[string][]string{}
	add := func(name, version string) {
		if !slices.Contains(out[name], version) {
			out[name] = append(out[name], version)
		}
	}
	for _, host := range c.Order {
		programs := c.Nodes[host].Versions.Programs()
		for name, version := range programs {
			add(name, version)
		}
		if version := programs["kube-apiserver"]; version != "" {
			add("kubectl", version)
		}
	}
	for name, version := range ClusterVersions(c) {
		if len(out[name]) == 0 {
			add(name, version)
		}
	}
	return out
}

// ClusterHosts returns the hosts that have a role in the cluster, in inventory order.
func ClusterHosts(inv *inventory.Inventory, c *cluster.Cluster) []string {
	var out []string
	for _, name := range inv.Names() {
		if len(c.Nodes[name].Roles) > 0 {
			out = append(out, name)
		}
	}
	return out
}
